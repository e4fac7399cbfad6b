/* An allgather in place of long blocks of a user-defined type without gaps: such data need no packing. Prints whether
 * the memory of each rank has grown by less than a block, and whether the blocks are right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, BLOCK = 64 };

static long most_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
    int rank, ranks, one = 1, is_right, all;
    MPI_Datatype doubles, type;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_contiguous(MIB / (int)sizeof(double), MPI_DOUBLE, &doubles);
    MPI_Type_dup(doubles, &type);
    MPI_Type_commit(&type);
    size_t bytes = (size_t)BLOCK * MIB;
    char *data = malloc(bytes * (size_t)ranks);
    memset(data, rank, bytes * (size_t)ranks);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, one, type, MPI_COMM_WORLD);
    memset(data, rank, bytes * (size_t)ranks);
    long before_kib = most_kib();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, BLOCK, type, MPI_COMM_WORLD);
    is_right = most_kib() - before_kib < BLOCK * 1024;
    for (int i = 0; i < ranks; i++)
        is_right = is_right && data[(size_t)i * bytes] == i && data[(size_t)(i + 1) * bytes - 1] == i;
    MPI_Reduce(&is_right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all ? "packing: right" : "packing: wrong");
    MPI_Finalize();
    return 0;
}
