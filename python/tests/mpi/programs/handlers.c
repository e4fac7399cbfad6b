/* Mistakes of a program that sets the handler of MPI_COMM_WORLD after it made its communicators. Rank 0 prints the class
 * of each error, and handlers, name and info as the program finds them. */
#include <mpi.h>
#include <stdio.h>

static int rank;

static void tell(const char *what, int code)
{
    int class;
    MPI_Error_class(code, &class);
    if (rank == 0)
        printf("%s: class %d\n", what, class);
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

/* A call that runs an algorithm, and mistakes without it. */
static void make_mistakes(const char *name, MPI_Comm comm)
{
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("%s: sum %d\n", name, sum);
    tell("a rank that does not exist", MPI_Send(&one, 1, MPI_INT, 1000, 0, comm));
    tell("a negative count", MPI_Bcast(&one, -1, MPI_INT, 0, comm));
}

static void show_handler(const char *name, MPI_Comm comm)
{
    MPI_Errhandler is;
    MPI_Comm_get_errhandler(comm, &is);
    if (rank == 0)
        printf("%s: %s\n", name, is == MPI_ERRORS_RETURN ? "returns" : is == MPI_ERRORS_ARE_FATAL ? "fatal" : "own");
}

int main(int argc, char **argv)
{
    int sizes[2] = {0, 5}, ranks, around[1] = {1}, one = 1, both[2], length, keys;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Errhandler own;
    MPI_Info info;
    MPI_Comm duplicate, grid;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef OPEN_MPI /* communicators do not follow later changes of MPI_COMM_WORLD's handler */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#endif
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, around, 0, &grid);
    MPI_Neighbor_allgather(&one, 1, MPI_INT, both, 1, MPI_INT, grid);
    MPI_Barrier(duplicate);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tell("dimensions", MPI_Dims_create(6, 2, sizes));
    make_mistakes("world", MPI_COMM_WORLD);
    make_mistakes("duplicate", duplicate);
    make_mistakes("grid", grid);
    show_handler("world", MPI_COMM_WORLD);
    show_handler("duplicate", duplicate);
    show_handler("grid", grid);
    show_handler("self", MPI_COMM_SELF);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(duplicate, own);
    tell("with a handler", MPI_Send(&one, 1, MPI_INT, 1000, 0, duplicate));
    show_handler("duplicate", duplicate);
    MPI_Errhandler_free(&own);
    MPI_Comm_get_name(duplicate, name, &length);
    MPI_Comm_get_info(duplicate, &info);
    MPI_Info_get_nkeys(info, &keys);
    if (rank == 0)
        printf("name \"%s\", %d keys\n", name, keys);
    MPI_Info_free(&info);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&duplicate);
    MPI_Finalize();
    return 0;
}
