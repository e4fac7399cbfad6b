/* Crashes when the library reserves memory of the node. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

static int is_armed;

int posix_fallocate(int file, off_t at, off_t bytes)
{
    if (is_armed)
        raise(SIGKILL);
    return ftruncate(file, at + bytes);
}

int main(int argc, char **argv)
{
    int one = 1, sum;
    MPI_Init(&argc, &argv);
    is_armed = 1;
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
