/* A broadcast for which one rank has too little room: the error handler of its communicator is called, and the program
 * goes on. With an argument, only a duplicate of MPI_COMM_WORLD returns errors. */
#include <mpi.h>
#include <stdio.h>

static int told;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    (void)comm;
    MPI_Error_class(*code, &class);
    told = class == MPI_ERR_TRUNCATE;
}

int main(int argc, char **argv)
{
    MPI_Errhandler errhandler;
    MPI_Comm duplicate;
    int rank, numbers[2] = {1, 2}, all, one = 0, class = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
    if (argc > 1)
        MPI_Error_class(MPI_Bcast(numbers, rank == 0 ? 2 : 1, MPI_INT, 0, duplicate), &class);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Bcast(numbers, rank == 0 ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);
    int is_right = told == (rank != 0) && class == (argc > 1 && rank ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    MPI_Allreduce(&is_right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0 && all)
        printf("errors: truncated, and the program goes on\n");
    MPI_Errhandler_free(&errhandler);
    MPI_Finalize();
    return !all;
}
