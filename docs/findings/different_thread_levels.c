/* Rank 0 asks for MPI_THREAD_MULTIPLE, the others do not, and all call MPI_Barrier five times. Right: they return.
 * MPICH lets ranks without threads meet in shared memory, and rank 0 sends messages. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void stop(int signal)
{
    (void)signal;
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    const char *mpich = getenv("PMI_RANK"), *open_mpi = getenv("PMIX_RANK");
    const char *rank = mpich ? mpich : open_mpi;
    int provided;
    MPI_Init_thread(&argc, &argv, rank && atoi(rank) == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    signal(SIGALRM, stop);
    alarm(10);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    alarm(0);
    if (rank && atoi(rank) == 0)
        puts("all have returned");
    MPI_Finalize();
    return 0;
}
