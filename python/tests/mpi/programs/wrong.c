/* Calls that are wrong on one rank, which only this rank notices; every rank goes on. Rank 1, or the root, has blocks
 * of another length than it sends, or one buffer as input and result; or a rank broadcasts or expects another length.
 * Prints the result of each rank: blocking, nonblocking and, if MPI has them, persistent. With a number as argument, rank
 * 1 exits with this status. With "late" all ranks only call MPI_Allreduce after the end of MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
enum { FORMS = 3 };
#define PLAN(name, ...) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
enum { FORMS = 2 };
#define PLAN(name, ...) MPI_ERR_UNKNOWN
#endif

static int rank, form;

/* A call in one of its forms. */
#define CALL(name, lower, ...)                                                                                         \
    (form == 0   ? MPI_##name(__VA_ARGS__)                                                                             \
     : form == 1 ? waited(MPI_I##lower(__VA_ARGS__, &request), &request)                                               \
                 : started(PLAN(name, __VA_ARGS__), &request))

static int waited(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

/* Starts a persistent call twice; waits for it once alone and once in an array. Both must have the same result. */
static int started(int code, MPI_Request *request)
{
    MPI_Request both[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2];
    if (code != MPI_SUCCESS)
        return MPI_ERR_UNKNOWN;
    MPI_Start(request);
    code = MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Start(request);
    int all = MPI_Waitall(2, both, statuses);
    if (all != (code == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS) || both[1] != *request)
        return MPI_ERR_UNKNOWN;
    int is_same = all == MPI_SUCCESS || (statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == code);
    return MPI_Request_free(request) == MPI_SUCCESS && is_same ? code : MPI_ERR_UNKNOWN;
}

static int called(const char *what, MPI_Comm comm)
{
    static int few[2000], many[16];
    static const int ones[] = {1, 1, 1}, twos[] = {2, 2, 2}, places[] = {0, 2, 4};
    int is_one = rank == 1, counts[] = {2, 2, 2};
    MPI_Request request;
    if (strcmp(what, "allgather") == 0)
        return CALL(Allgather, allgather, few, 2, MPI_INT, many, is_one ? 1 : 2, MPI_INT, comm);
    if (strcmp(what, "alltoall") == 0)
        return CALL(Alltoall, alltoall, few, 2, MPI_INT, many, is_one ? 1 : 2, MPI_INT, comm);
    if (strcmp(what, "gather") == 0)
        return CALL(Gather, gather, few, 2, MPI_INT, many, is_one ? 1 : 2, MPI_INT, 1, comm);
    if (strcmp(what, "scatter") == 0)
        return CALL(Scatter, scatter, many, 2, MPI_INT, few, is_one ? 1 : 2, MPI_INT, 1, comm);
    if (strcmp(what, "allgatherv") == 0)
        return CALL(Allgatherv, allgatherv, few, 2, MPI_INT, many, is_one ? ones : twos, places, MPI_INT, comm);
    if (strcmp(what, "alltoallv") == 0)
        return CALL(Alltoallv, alltoallv, few, twos, places, MPI_INT, many, is_one ? ones : twos, places, MPI_INT, comm);
    if (strcmp(what, "gatherv") == 0)
        return CALL(Gatherv, gatherv, few, 2, MPI_INT, many, is_one ? ones : twos, places, MPI_INT, 1, comm);
    if (strcmp(what, "scatterv") == 0)
        return CALL(Scatterv, scatterv, many, twos, places, MPI_INT, few, is_one ? 1 : 2, MPI_INT, 1, comm);
    if (strcmp(what, "roomy gather") == 0)
        return CALL(Gather, gather, few, 1, MPI_INT, many, 2, MPI_INT, 1, comm);
    if (strcmp(what, "allreduce") == 0)
        return CALL(Allreduce, allreduce, few, is_one ? few : many, 2, MPI_INT, MPI_SUM, comm);
    if (strcmp(what, "reduce") == 0)
        return CALL(Reduce, reduce, few, is_one ? few : many, 2, MPI_INT, MPI_SUM, 1, comm);
    if (strcmp(what, "scan") == 0)
        return CALL(Scan, scan, few, is_one ? few : many, 2, MPI_INT, MPI_SUM, comm);
    if (strcmp(what, "reduce_scatter") == 0)
        return CALL(Reduce_scatter, reduce_scatter, few, is_one ? few : many, counts, MPI_INT, MPI_SUM, comm);
    if (strcmp(what, "short broadcast") == 0)
        return CALL(Bcast, bcast, few, rank == 0 ? 1 : 2, MPI_INT, 0, comm);
    if (strcmp(what, "long broadcast") == 0)
        return CALL(Bcast, bcast, few, is_one ? 1 : 2, MPI_INT, 0, comm);
    if (strcmp(what, "much too short broadcast") == 0)
        return CALL(Bcast, bcast, few, rank == 0 ? 1 : 2000, MPI_INT, 0, comm);
    if (strcmp(what, "much too long broadcast") == 0)
        return CALL(Bcast, bcast, few, is_one ? 1 : 2000, MPI_INT, 0, comm);
    return MPI_ERR_UNKNOWN;
}

static const char *name_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    switch (class) {
    case MPI_SUCCESS: return "done";
    case MPI_ERR_TRUNCATE: return "truncated";
    case MPI_ERR_BUFFER: return "buffer";
    case MPI_ERR_ARG: return "argument";
    case MPI_ERR_OTHER: return "other";
    default: return "?";
    }
}

/* Prints the result of a call on each rank, and checks a later sum. */
static void tell(const char *what, MPI_Comm comm)
{
    int one = 1, sum = 0, ranks;
    char name[16] = "", names[16 * 16];
    strcpy(name, name_of(called(what, comm)));
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Gather(name, 16, MPI_CHAR, names, 16, MPI_CHAR, 0, comm);
    MPI_Comm_size(comm, &ranks);
    if (rank == 0)
        printf("%s%s:", (const char *[]){"", "i", "planned "}[form], what);
    for (int i = 0; i < ranks && rank == 0; i++)
        printf(" %s", names + 16 * i);
    if (rank == 0)
        puts(sum == ranks ? "" : ", and then a wrong sum");
}

int main(int argc, char **argv)
{
    static const char *const cases[] = {"allgather", "alltoall", "gather", "scatter", "allgatherv", "alltoallv", "gatherv",
                                        "scatterv", "roomy gather", "allreduce", "reduce", "scan",
                                        "reduce_scatter", "short broadcast", "long broadcast", "much too short broadcast",
                                        "much too long broadcast"};
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        int sum;
        MPI_Finalize();
        return MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (argc > 1 && rank == 1)
        exit(atoi(argv[1]));
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (form = 0; form < FORMS; form++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            tell(cases[i], comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
