/* A broadcast of many segments to a rank that comes a second late. Until then it advances MPI, which takes in what it can.
 * Prints how long rank 0 was in the broadcast, and then the sum of the bytes that rank 1 has. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 16 };

int main(int argc, char **argv)
{
    int rank;
    long sum = 0;
    unsigned char *data = calloc(BYTES, 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BYTES && rank == 0; i++)
        data[i] = (unsigned char)i;
    double start_s = MPI_Wtime();
    while (rank == 1 && MPI_Wtime() < start_s + 1) {
        int flag;
        MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    double time_s = MPI_Wtime() - start_s;
    for (int i = 0; i < BYTES; i++)
        sum += data[i];
    if (rank == 0)
        printf("%f s\n", time_s);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        printf("sum %ld\n", sum);
    free(data);
    MPI_Finalize();
    return 0;
}
