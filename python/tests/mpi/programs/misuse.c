/* Calls that are errors in MPI, and valid calls that look similar. Rank 0 prints the results. The argument "buffers"
 * adds errors in buffers that Open MPI does not check. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;
static int rank;

static void say(const char *what, int code)
{
    int class;
    MPI_Error_class(code, &class);
    if (rank == 0)
        printf("%s: %d\n", what, class);
}

static void operators_and_types(void)
{
    int a[4] = {1, 2, 3, 4}, b[4] = {0};
    double x = 1, y = 0;
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    say("bcast of a type that is not committed", MPI_Bcast(a, 1, pair, 0, comm));
    MPI_Type_commit(&pair);
    say("allreduce of a type of the program's own", MPI_Allreduce(a, b, 1, pair, MPI_SUM, comm));
    say("reduce of a type of the program's own", MPI_Reduce(a, b, 1, pair, MPI_SUM, 0, comm));
    MPI_Type_free(&pair);
    say("bits of floating point", MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_BAND, comm));
    say("no reduction", MPI_Allreduce(a, b, 1, MPI_INT, MPI_REPLACE, comm));
    say("no operator", MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    say("a count below zero", MPI_Bcast(a, -1, MPI_INT, 0, comm));
    say("no such root", MPI_Bcast(a, 1, MPI_INT, 99, comm));
    int code = MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, comm);
    say("one buffer of one element", code);
    if (rank == 0 && code == MPI_SUCCESS)
        printf("the sum of one buffer: %d\n", a[0]);
}

static void buffers(void)
{
    int a[64] = {1, 2, 3, 4}, b[64] = {0};
    say("no input", MPI_Allreduce(NULL, b, 3, MPI_INT, MPI_SUM, comm));
    say("no buffer", MPI_Bcast(NULL, 3, MPI_INT, 0, comm));
    say("no result", MPI_Allgather(a, 1, MPI_INT, NULL, 1, MPI_INT, comm));
    say("a result in place", MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
    say("one buffer", MPI_Allreduce(a, a, 3, MPI_INT, MPI_SUM, comm));
    MPI_Request request;
    say("no request", MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, comm, NULL));
    MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Op op = MPI_OP_NULL;
    say("no operator to free", MPI_Op_free(&op));
    say("what was started", MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static int sums_are(const int *numbers, int count)
{
    int size, is_right = 1;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < count; i++)
        is_right = is_right && numbers[i] == size * (i + 1);
    return is_right;
}

/* Addresses that are validly 0. */
static void no_misuse(void)
{
    int a[3] = {1, 2, 3}, b[3] = {0}, pair[2] = {rank, 7}, size;
    MPI_Datatype absolute;
    MPI_Aint address;
    MPI_Comm_size(comm, &size);
    int *counts = calloc((size_t)size, sizeof *counts);
    counts[0] = 3;
    say("all to rank 0", MPI_Reduce_scatter(a, rank == 0 ? b : NULL, counts, MPI_INT, MPI_SUM, comm));
    int is_right = rank != 0 || sums_are(b, 3);
    say("reduce", MPI_Reduce(a, rank == 0 ? b : NULL, 3, MPI_INT, MPI_SUM, 0, comm));
    say("nothing", MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm));
    MPI_Get_address(pair, &address);
    MPI_Type_create_hindexed(1, &(int){2}, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    say("bottom", MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, comm));
    MPI_Type_free(&absolute);
    free(counts);
    is_right = is_right && pair[0] == 0 && pair[1] == 7;
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_MIN, comm);
    if (rank == 0)
        puts(is_right ? "right" : "wrong");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    operators_and_types();
    if (argc > 1 && strcmp(argv[1], "buffers") == 0)
        buffers();
    no_misuse();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
