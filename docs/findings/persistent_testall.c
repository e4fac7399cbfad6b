/* A persistent allreduce that MPI_Testall completes. Exit status 0: right; 1: MPI_Testall fails. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int one = 1, sum = 0, ranks, flag = 0, status = MPI_SUCCESS;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Request request;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    while (!flag && status == MPI_SUCCESS)
        status = MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    if (status != MPI_SUCCESS || sum != ranks)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
