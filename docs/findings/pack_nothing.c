/* Packing no elements into a buffer of no bytes. Exit status 0: done; 1: refused. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int element = 0, position = 0;
    int status = MPI_Pack(&element, 0, MPI_INT, NULL, 0, &position, MPI_COMM_WORLD);
    MPI_Finalize();
    return status != MPI_SUCCESS;
}
