/* Checks that sums of floating-point numbers of many magnitudes have the same bits on all ranks. Prints "bitwise: " and
 * a number made of the bits of all results, or "different". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    enum { MOST = 40000 };
    static double own[MOST], sum[MOST];
    unsigned long long bits = 14695981039346656037ull, least, most, word;
    int rank, counts[] = {1, 7, 64, 1000, MOST};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    srand48(rank + 1);
    for (int i = 0; i < MOST; i++)
        own[i] = (drand48() - 0.5) * (double)(1ull << (i % 50));
    for (int c = 0; c < 5; c++) {
        MPI_Allreduce(own, sum, counts[c], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < counts[c]; i++) {
            memcpy(&word, &sum[i], sizeof word);
            bits = (bits ^ word) * 1099511628211ull;
        }
    }
    PMPI_Allreduce(&bits, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    PMPI_Allreduce(&bits, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && least == most)
        printf("bitwise: %llx\n", bits);
    else if (rank == 0)
        printf("bitwise: different\n");
    MPI_Finalize();
    return 0;
}
