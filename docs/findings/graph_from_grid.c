/* A distributed graph that is made from a grid. Exit status 0: it is a distributed graph, and its neighbours get their blocks; 1: not. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, ranks, period = 0, kind;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    MPI_Comm grid, graph;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &period, 0, &grid);
    int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks, got = -1;
    MPI_Dist_graph_create_adjacent(grid, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &kind);
    if (kind == MPI_DIST_GRAPH)
        MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, graph);

    int is_wrong = got != before;
    if (is_wrong)
        printf("rank %d: %s, got %d, expected %d\n", rank, kind == MPI_CART ? "a grid" : "a graph", got, before);
    MPI_Allreduce(MPI_IN_PLACE, &is_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_wrong;
}
