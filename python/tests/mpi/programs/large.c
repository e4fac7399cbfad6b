/* A broadcast of more bytes than an int holds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, is_right = 1, all;
    size_t numbers = (size_t)1 << 28, bytes = 8 * numbers + 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long long *data = malloc(bytes);
    for (size_t i = 0; i <= numbers; i++)
        data[i] = rank == 0 ? (long long)(i * 7) : -1;
    MPI_Bcast(data, (int)(numbers + 1), MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i <= numbers; i++)
        is_right = is_right && data[i] == (long long)(i * 7);
    MPI_Allreduce(&is_right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0 && all)
        printf("large: right\n");
    free(data);
    MPI_Finalize();
    return !all;
}
