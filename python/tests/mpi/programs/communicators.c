/* "attributes": only communicators of the program have its attributes. "many": as many communicators as MPI allows.
 * "early": communicators that are freed while a call of MPI's own is under way, in a program with threads. "levels": only
 * rank 0 may have threads. "spawn": spawned processes without the library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int copies;

static int copied(MPI_Comm comm, int keyval, void *extra, void *value, void *into, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)value, (void)into, (void)flag;
    copies++;
    return MPI_ERR_OTHER;
}

static int sum_is_right(MPI_Comm comm)
{
    int size, one = 1, sum = 0;
    MPI_Comm_size(comm, &size);
    return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size;
}

static int attributes(void)
{
    MPI_Comm comm;
    int keyval;
    MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, &keyval);
    int is_right = sum_is_right(comm) && copies == 0;
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&keyval);
    return is_right;
}

static int many(void)
{
    static MPI_Comm comms[3000];
    int count = 0, is_right = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (count < 3000 && MPI_Comm_dup(MPI_COMM_WORLD, &comms[count]) == MPI_SUCCESS)
        is_right = sum_is_right(comms[count++]) && is_right;
    while (count)
        MPI_Comm_free(&comms[--count]);
    return is_right;
}

/* MPI frees the communicator in the function that ends the call. */
static int early(void)
{
    int is_right = 1;
    for (int i = 0; i < 10; i++) {
        MPI_Comm comm;
        MPI_Request request;
        int ended = 0, index;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        is_right = sum_is_right(comm) && is_right;
        MPI_Ibarrier(comm, &request);
        MPI_Comm_free(&comm);
        while (ended == 0)
            MPI_Testsome(1, &request, &ended, &index, MPI_STATUSES_IGNORE);
    }
    return is_right;
}

static int levels(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int is_right = sum_is_right(comm);
    MPI_Comm_free(&comm);
    return is_right;
}

/* MPI tells the rank only once it is initialised. */
static int is_rank_0(void)
{
    const char *mpich = getenv("PMI_RANK"), *open_mpi = getenv("PMIX_RANK"), *rank = mpich ? mpich : open_mpi;
    return rank && strcmp(rank, "0") == 0;
}

static int has_spawned;

static int spawn(char *program)
{
    MPI_Comm between, all;
    char *arguments[] = {"spawn", NULL};
    int code = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&between);
    if (between == MPI_COMM_NULL)
        code = MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    if (code != MPI_SUCCESS)
        return 0;
    has_spawned = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Intercomm_merge(between, 0, &all);
    int is_right = sum_is_right(all) && sum_is_right(MPI_COMM_WORLD);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    return is_right;
}

int main(int argc, char **argv)
{
    int rank, is_right, provided;
    const char *what = argc > 1 ? argv[1] : "";
    int may_have_threads = strcmp(what, "early") == 0 || (strcmp(what, "levels") == 0 && is_rank_0());
    MPI_Init_thread(&argc, &argv, may_have_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_right = strcmp(what, "attributes") == 0 ? attributes()
               : strcmp(what, "many") == 0     ? many()
               : strcmp(what, "early") == 0    ? early()
               : strcmp(what, "levels") == 0   ? levels()
                                               : spawn(argv[0]);
    const char *what_is_wrong = strcmp(what, "spawn") == 0 && !has_spawned ? "nothing spawned" : "wrong";
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("communicators: %s\n", is_right ? "right" : what_is_wrong);
    MPI_Finalize();
    return 0;
}
