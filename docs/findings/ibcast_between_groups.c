/* A broadcast from rank 1 of a group of two to all ranks of another group. Exit status 0: right; 1: wrong. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, own;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int is_sending = rank < 2;
    MPI_Comm group, both;
    MPI_Comm_split(MPI_COMM_WORLD, is_sending, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_sending ? 2 : 0, 0, &both);
    MPI_Comm_rank(group, &own);

    int root = 1, data = is_sending && own == root ? 17 : -1;
    MPI_Request request;
    MPI_Ibcast(&data, 1, MPI_INT, !is_sending ? root : own == root ? MPI_ROOT : MPI_PROC_NULL, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    int is_wrong = !is_sending && data != 17;
    if (is_wrong)
        printf("rank %d: got %d, expected 17\n", rank, data);
    MPI_Allreduce(MPI_IN_PLACE, &is_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_wrong;
}
