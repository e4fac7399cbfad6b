/* The messages of MPI's own collectives: preloaded recorder.c records them, and each rank prints its record.
 *
 *     messages CASE..        a CASE is COLLECTIVE:ROOT:BYTES[:VARIABLE=VALUE]..
 *
 * The variables are variables of MPI's tools interface. A VALUE is a number, or a name in the description of the
 * variable. The output has a line per rank and case: "CASE-NUMBER RANK TO BYTES TO BYTES ..", or "CASE-NUMBER RANK
 * refused".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETTINGS = 8, MOST_BYTES = 1 << 25, MOST_TEXT = 1 << 20, MOST_TEXT_OF_VARIABLE = 8192 };

static int rank, ranks, root, size;
static char *input, *result;
static int *counts, *places, *doubles;
static MPI_Comm comm, unset;

static void *found(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* The number of a value. MPICH lists the names in the description of a variable: one per line, in order, below the
 * title. */
static int value_of(const char *about, const char *text)
{
    int number = 0;
    if (text[0] >= '0' && text[0] <= '9')
        return atoi(text);
    for (const char *line = strchr(about, '\n'); line; line = strchr(line + 1, '\n'), number++)
        if (strncmp(line + 1, text, strlen(text)) == 0 && line[1 + strlen(text)] == ' ')
            return number;
    fprintf(stderr, "no value %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 0;
}

static MPI_T_cvar_handle set(const char *name, const char *value, int *usual)
{
    char word[MOST_TEXT_OF_VARIABLE], about[MOST_TEXT_OF_VARIABLE];
    int index, count, length = sizeof word, about_length = sizeof about, verbosity, bind, scope, wanted;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index)) {
        fprintf(stderr, "no variable %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_cvar_get_info(index, word, &length, &verbosity, &type, &names, about, &about_length, &bind, &scope);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    wanted = value_of(about, value);
    MPI_T_cvar_read(handle, usual);
    MPI_T_cvar_write(handle, &wanted);
    return handle;
}

static int waited(int status, MPI_Request *request)
{
    return status ? status : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int call(const char *name)
{
    int n = size / (int)sizeof(double);
    MPI_Request request;
    if (!strcmp(name, "allgather"))
        return MPI_Allgather(input, size, MPI_BYTE, result, size, MPI_BYTE, comm);
    if (!strcmp(name, "allgatherv"))
        return MPI_Allgatherv(input, size, MPI_BYTE, result, counts, places, MPI_BYTE, comm);
    if (!strcmp(name, "allreduce"))
        return MPI_Allreduce(input, result, n, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(name, "alltoall"))
        return MPI_Alltoall(input, size, MPI_BYTE, result, size, MPI_BYTE, comm);
    if (!strcmp(name, "alltoallv"))
        return MPI_Alltoallv(input, counts, places, MPI_BYTE, result, counts, places, MPI_BYTE, comm);
    if (!strcmp(name, "barrier"))
        return MPI_Barrier(comm);
    if (!strcmp(name, "bcast"))
        return MPI_Bcast(input, size, MPI_BYTE, root, comm);
    if (!strcmp(name, "exscan"))
        return MPI_Exscan(input, result, n, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(name, "gather"))
        return MPI_Gather(input, size, MPI_BYTE, result, size, MPI_BYTE, root, comm);
    if (!strcmp(name, "gatherv"))
        return MPI_Gatherv(input, size, MPI_BYTE, result, counts, places, MPI_BYTE, root, comm);
    if (!strcmp(name, "ireduce_scatter"))
        return waited(MPI_Ireduce_scatter(input, result, doubles, MPI_DOUBLE, MPI_SUM, comm, &request), &request);
    if (!strcmp(name, "ireduce_scatter_block"))
        return waited(MPI_Ireduce_scatter_block(input, result, n / ranks, MPI_DOUBLE, MPI_SUM, comm, &request),
                      &request);
    if (!strcmp(name, "reduce"))
        return MPI_Reduce(input, result, n, MPI_DOUBLE, MPI_SUM, root, comm);
    if (!strcmp(name, "reduce_scatter"))
        return MPI_Reduce_scatter(input, result, doubles, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(name, "reduce_scatter_block"))
        return MPI_Reduce_scatter_block(input, result, n / ranks, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(name, "scan"))
        return MPI_Scan(input, result, n, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(name, "scatter"))
        return MPI_Scatter(input, size, MPI_BYTE, result, size, MPI_BYTE, root, comm);
    return MPI_Scatterv(input, counts, places, MPI_BYTE, result, size, MPI_BYTE, root, comm);
}

static void print(int number, int status)
{
    static char text[MOST_TEXT];
    int length = 0, count = ((int (*)(void))found("recorder_messages"))();
    void (*get)(int, int *, size_t *) = (void (*)(int, int *, size_t *))found("recorder_get");
    length += sprintf(text, "%d %d%s", number, rank, status ? " refused" : "");
    for (int i = 0; !status && i < count && length < MOST_TEXT - 64; i++) {
        int to;
        size_t bytes;
        get(i, &to, &bytes);
        length += sprintf(text + length, " %d %zu", to, bytes);
    }
    if (rank == 0)
        puts(text);
    for (int other = 1; other < ranks; other++) {
        if (rank == other)
            MPI_Send(text, length + 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(text, MOST_TEXT, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            puts(text);
        }
    }
}

static void run(int number, char *text)
{
    MPI_T_cvar_handle handles[MOST_SETTINGS];
    int usual[MOST_SETTINGS], settings = 0, status;
    void (*record)(int) = (void (*)(int))found("recorder_switch");
    char *name = strtok(text, ":"), *setting;
    root = atoi(strtok(NULL, ":"));
    size = atoi(strtok(NULL, ":"));
    for (int i = 0; i < ranks; i++) {
        counts[i] = size;
        places[i] = i * size;
        doubles[i] = size / (int)sizeof(double) / ranks + (i < size / (int)sizeof(double) % ranks);
    }
    while ((setting = strtok(NULL, ":"))) {
        char *value = strchr(setting, '=');
        *value++ = '\0';
        handles[settings] = set(setting, value, &usual[settings]);
        settings++;
    }
    /* Open MPI reads the variables when a communicator is made. */
    if (settings)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        comm = unset;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    call(name); /* components may make communicators in the first call */
    record(1);
    status = call(name);
    record(0);
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < settings; i++) {
        MPI_T_cvar_write(handles[i], &usual[i]);
        MPI_T_cvar_handle_free(&handles[i]);
    }
    print(number, status);
    if (comm != unset)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    input = calloc(MOST_BYTES, 1);
    result = calloc(MOST_BYTES, 1);
    counts = calloc(3 * (size_t)ranks, sizeof *counts);
    places = counts + ranks;
    doubles = places + ranks;
    void (*peer)(int) = (void (*)(int))found("recorder_peer");
    for (int to = 0; to < ranks; to++)
        for (int from = 0; from < ranks; from++) {
            if (from != to && rank == from) {
                peer(to);
                MPI_Send(&to, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
                peer(-1); /* a message by shared memory has no endpoint */
            }
            if (from != to && rank == to)
                MPI_Recv(&provided, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    MPI_Comm_dup(MPI_COMM_WORLD, &unset);
    for (int i = 1; i < argc; i++)
        run(i - 1, argv[i]);
    MPI_Comm_free(&unset);
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
