/* Blocks of the two neighbours on a periodic grid of two ranks, which are one rank. Exit status 0: right; 1: wrong. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, ranks, period = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &period, 0, &grid);
    int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    int sent[] = {10 * rank, 10 * rank + 1}, got[2] = {-1, -1};
    MPI_Request request;
    MPI_Ineighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, grid, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    int is_wrong = got[0] != 10 * before + 1 || got[1] != 10 * after;
    if (is_wrong)
        printf("rank %d: got %d and %d, expected %d and %d\n", rank, got[0], got[1], 10 * before + 1, 10 * after);
    MPI_Allreduce(MPI_IN_PLACE, &is_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_wrong;
}
