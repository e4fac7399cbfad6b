/* Collectives of 8 to 256 bytes. Before each, one rank uses another communicator and type: it has to describe the call,
 * which others may leave to MPI at once. Both paths must decide alike. Prints the number of wrong results. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 32, MOST_RANKS = 8 };
static double in[MOST * MOST_RANKS], out[MOST * MOST_RANKS];

static void use_another(int count, int rank, int ranks)
{
    short one = 1, sum;
    if (count % ranks == rank)
        MPI_Allreduce(&one, &sum, 1, MPI_SHORT, MPI_SUM, MPI_COMM_SELF);
    for (int i = 0; i < count * ranks; i++)
        in[i] = i + 1, out[i] = 0;
}

/* Element i of the result must be factor * (first + i + 1), modulo `block` elements of i. */
static int wrong(int elements, int block, double factor, double first)
{
    int found = 0;
    for (int i = 0; i < elements; i++)
        found += out[i] != factor * (first + i % block + 1);
    return found;
}

#define EACH(call, is_mine, ...)                                                                                       \
    for (int count = 1; count <= MOST; count++) {                                                                      \
        use_another(count, rank, ranks);                                                                               \
        call;                                                                                                          \
        found += is_mine ? wrong(__VA_ARGS__) : 0;                                                                     \
    }

int main(int argc, char **argv)
{
    int rank, ranks, found = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_DOUBLE;
    EACH(MPI_Allreduce(in, out, count, type, MPI_SUM, comm), 1, count, count, ranks, 0)
    EACH(MPI_Reduce(in, out, count, type, MPI_SUM, 0, comm), rank == 0, count, count, ranks, 0)
    EACH(MPI_Scan(in, out, count, type, MPI_SUM, comm), 1, count, count, rank + 1, 0)
    EACH(MPI_Exscan(in, out, count, type, MPI_SUM, comm), rank > 0, count, count, rank, 0)
    EACH(MPI_Reduce_scatter_block(in, out, count, type, MPI_SUM, comm), 1, count, count, ranks, rank * count)
    EACH((memcpy(out, in, sizeof out), MPI_Bcast(out, count, type, 0, comm)), 1, count, count, 1, 0)
    EACH(MPI_Allgather(in, count, type, out, count, type, comm), 1, count * ranks, count, 1, 0)
    EACH(MPI_Alltoall(in, count, type, out, count, type, comm), 1, count * ranks, count, 1, rank * count)
    EACH(MPI_Gather(in, count, type, out, count, type, 0, comm), rank == 0, count * ranks, count, 1, 0)
    EACH(MPI_Scatter(in, count, type, out, count, type, 0, comm), 1, count, count, 1, rank * count)
    EACH((memcpy(out, in, sizeof out), MPI_Barrier(comm)), 1, count, count, 1, 0)
    PMPI_Allreduce(&found, &all, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("%d wrong\n", all);
    MPI_Finalize();
    return 0;
}
