/* Sums that an operator adds which is not said to commute, of a type with gaps. Exit status 0: right; 1: wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXTENT = 8 };

/* Adds the ints that lie EXTENT bytes apart. */
static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        *(int *)((char *)to + EXTENT * i) += *(int *)((char *)from + EXTENT * i);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, EXTENT, &type);
    MPI_Type_commit(&type);
    MPI_Op op;
    MPI_Op_create(add, 0, &op);

    char *input = calloc((size_t)ranks, EXTENT), result[EXTENT] = {0};
    for (int i = 0; i < ranks; i++)
        *(int *)(input + EXTENT * i) = (rank + 1) * (i + 1);
    MPI_Reduce_scatter_block(input, result, 1, type, op, MPI_COMM_WORLD);

    int expected = ranks * (ranks + 1) / 2 * (rank + 1), is_wrong = *(int *)result != expected;
    if (is_wrong)
        printf("rank %d: got %d, expected %d\n", rank, *(int *)result, expected);
    MPI_Allreduce(MPI_IN_PLACE, &is_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_wrong;
}
