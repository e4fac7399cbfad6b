/* Broadcasts of more bytes than an int holds: first by elements on both ranks, then as one element of a type on rank 0,
 * which is the root once and receives once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Datatype type;
    int rank, is_right = 1, all;
    size_t numbers = (size_t)1 << 28, bytes = 8 * numbers + 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long long *data = malloc(bytes);
    MPI_Type_contiguous((int)(numbers + 1), MPI_LONG_LONG, &type);
    MPI_Type_commit(&type);
    for (int turn = 0; turn < 3; turn++) {
        int root = turn == 2, is_one = turn && rank == 0;
        for (size_t i = 0; i <= numbers; i++)
            data[i] = rank == root ? (long long)(i * 7) : -1;
        MPI_Bcast(data, is_one ? 1 : (int)(numbers + 1), is_one ? type : MPI_LONG_LONG, root, MPI_COMM_WORLD);
        for (size_t i = 0; i <= numbers; i++)
            is_right = is_right && data[i] == (long long)(i * 7);
    }
    MPI_Type_free(&type);
    MPI_Allreduce(&is_right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0 && all)
        printf("large: right\n");
    free(data);
    MPI_Finalize();
    return !all;
}
