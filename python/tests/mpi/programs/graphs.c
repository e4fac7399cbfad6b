/* Distributed graphs made from other topologies: a grid that is not periodic, a graph, and a graph made from that grid.
 * The neighbours of a rank are the adjacent ranks. Prints the number of ranks with a wrong result. */
#include <mpi.h>
#include <stdio.h>

static int rank, ranks, near[2], count;

static int is_wrong(MPI_Comm comm)
{
    int got[2] = {-1, -1}, wrong = MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm) != MPI_SUCCESS;
    for (int i = 0; i < count; i++)
        wrong = wrong || got[i] != near[i];
    wrong = wrong || MPI_Neighbor_allgather(&rank, 0, MPI_INT, NULL, 0, MPI_INT, comm) != MPI_SUCCESS;
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
    MPI_Request request;
    MPI_Neighbor_allgather_init(&rank, 0, MPI_INT, NULL, 0, MPI_INT, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
    return wrong;
}

static MPI_Comm made_from(MPI_Comm comm)
{
    MPI_Comm made;
    MPI_Dist_graph_create_adjacent(comm, count, near, MPI_UNWEIGHTED, count, near, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    return made;
}

int main(int argc, char **argv)
{
    MPI_Comm grid, graph;
    int all, index[16], edges[32], at = 0, periodic = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int r = 0; r < ranks; r++) {
        for (int other = r - 1; other <= r + 1; other += 2)
            if (other >= 0 && other < ranks) {
                edges[at++] = other;
                if (r == rank)
                    near[count++] = other;
            }
        index[r] = at;
    }
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &grid);
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &graph);
    MPI_Comm made[] = {made_from(grid), made_from(graph), made_from(MPI_COMM_WORLD), MPI_COMM_NULL};
    made[3] = made_from(made[0]);
    int wrong = is_wrong(graph);
    for (int i = 0; i < 4; i++)
        wrong += is_wrong(made[i]);
    wrong = wrong > 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong\n", all);
    for (int i = 0; i < 4; i++)
        MPI_Comm_free(&made[i]);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
