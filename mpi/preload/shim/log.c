/* The log. This file counts calls, prints the summary, and writes the log of the job. The entries of all ranks go up a
 * binomial tree to rank 0, which adds them up. */
#include "log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "types.h"

enum { PATH_ROOM = 4096, TEXT_ROOM = 256 };

/* The summary has been printed. */
static int has_summary;

/* On rank 0: the folder of the job's log. On all ranks: when the job began. */
static char folder[PATH_ROOM];
static struct timespec job_start;
static double job_start_s;

/* Counting calls */

static size_t element_bytes(const struct call *call)
{
    if (call->op == MPI_OP_NULL)
        return 1;
    return call->result.type == MPI_DATATYPE_NULL ? 0 : shape_of(call->result.type)->bytes;
}

/* Returns 1 if all ranks know the size of a call as rules define it. The caller excludes refused calls. */
static int has_size(const struct call *call)
{
    switch (call->asked.collective) {
    case HOCKET_BARRIER:
        return 1;
    case HOCKET_ALLTOALLV:
    case HOCKET_GATHERV:
    case HOCKET_SCATTERV:
        return 0;
    case HOCKET_NEIGHBOR_ALLGATHER:
    case HOCKET_NEIGHBOR_ALLTOALL:
        return call->asked.is_uniform;
    default:
        return call->input.type != MPI_DATATYPE_NULL || call->result.type != MPI_DATATYPE_NULL;
    }
}

static hocket_logged logged(const struct call *call, int rank, int ranks, double time_s)
{
    const hocket_call *asked = &call->asked;
    int has_counts = asked->counts && (!asked->neighbors || call->result_pieces.counts);
    size_t own = has_counts ? call->result.count : asked->count;
    size_t count = has_counts && asked->collective == HOCKET_ALLGATHER ? asked->counts[0] : own;
    size_t each = element_bytes(call);
    return (hocket_logged){.function = call->function,
                           .collective = asked->collective,
                           .ranks = ranks,
                           .is_counted = rank == 0,
                           .has_size = !call->is_refused && has_size(call),
                           .size_bytes = count * each,
                           .bytes = own * each,
                           .time_s = time_s};
}

static void count_passed(const struct call *call, double time_s)
{
    int rank = 0, ranks = 0;
    if (shim.is_ready && call->comm != MPI_COMM_NULL) {
        PMPI_Comm_rank(call->comm, &rank);
        PMPI_Comm_size(call->comm, &ranks);
    }
    hocket_logged counted = logged(call, rank, ranks, time_s);
    hocket_log_passed(&counted, call->reason);
}

void log_passed(const struct call *call)
{
    if (is_counting() && call->form != BLOCKING)
        count_passed(call, NAN);
    if (shim.log_calls)
        print_line("rank %d: %s left to MPI: %s", shim.world_rank, call->function, call->reason);
}

void log_left(const struct call *call)
{
    count_passed(call, PMPI_Wtime() - call->start_s);
}

void tell_wrong(const struct call *call)
{
    static int has_told;
    char error[MPI_MAX_ERROR_STRING] = "no error";
    int class, length;
    if (call->code == MPI_SUCCESS && (!call->wrong || __atomic_exchange_n(&has_told, 1, __ATOMIC_RELAXED)))
        return;
    if (call->code != MPI_SUCCESS) {
        PMPI_Error_class(call->code, &class);
        PMPI_Error_string(class, error, &length);
    }
    print_line("rank %d: %s: %s%s%s", shim.world_rank, call->function, call->wrong ? call->wrong : "",
               call->wrong ? ": " : "", error);
}

void log_ran(const struct operation *operation)
{
    const struct call *call = operation->call;
    if (call->wrong || call->code != MPI_SUCCESS)
        tell_wrong(call);
    if (!is_counting())
        return;
    hocket_logged counted = logged(call, operation->comm->rank, operation->comm->ranks, PMPI_Wtime() - call->start_s);
    hocket_log_ran(&counted, operation->program);
    if (!shim.log_calls)
        return;
    char algorithm[128];
    hocket_algorithm(operation->program, algorithm, sizeof algorithm);
    print_line("rank %d: %s, %zu B, %d rank%s: %s, %.3f us", shim.world_rank, call->function, counted.bytes,
               counted.ranks, counted.ranks == 1 ? "" : "s", algorithm, 1e6 * counted.time_s);
}

/* A text that a function of libhocket writes; the caller frees it. */
static char *text_by(size_t (*write)(char *text, size_t room))
{
    size_t length = write(NULL, 0);
    char *text = resize(NULL, length + 1);
    write(text, length + 1);
    return text;
}

/* HOCKET_LOG */

void read_log(char *problem, size_t room)
{
    const char *log = getenv("HOCKET_LOG");
    if (!log || !*log)
        return;
    shim.log_calls = strcmp(log, "calls") == 0;
    shim.log_summary = shim.log_calls || strcmp(log, "summary") == 0;
    if (!shim.log_summary)
        snprintf(problem, room, "HOCKET_LOG: got \"%s\", expected summary or calls", log);
}

void hocket_count_calls(int are_counted)
{
    shim.log_summary = are_counted;
}

void print_summary(void)
{
    if (!shim.log_summary || has_summary || shim.world_rank != 0)
        return;
    has_summary = 1;
    char *text = text_by(hocket_log_summary);
    fprintf(stderr, "hocket: rank 0:\n%s", text);
    free(text);
}

/* HOCKET_JOB_LOG */

static void tell_no_log(const char *path, const char *problem)
{
    print_line("HOCKET_JOB_LOG: %s: %s; this job writes no log", path, problem);
}

int has_job_log(void)
{
    struct stat about;
    const char *folder_name = getenv("HOCKET_JOB_LOG");
    if (!folder_name || !*folder_name)
        return 0;
    if (stat(folder_name, &about) || (S_ISDIR(about.st_mode) && access(folder_name, W_OK | X_OK)))
        tell_no_log(folder_name, strerror(errno));
    else if (!S_ISDIR(about.st_mode) || !realpath(folder_name, folder))
        tell_no_log(folder_name, "not a folder");
    else
        return 1;
    return 0;
}

void begin_job_log(void)
{
    clock_gettime(CLOCK_REALTIME, &job_start);
    job_start_s = PMPI_Wtime();
}

static int merge_from(int rank, MPI_Comm comm)
{
    MPI_Status status;
    int length, code = PMPI_Probe(rank, 0, comm, &status);
    if (code != MPI_SUCCESS)
        return code;
    PMPI_Get_count(&status, MPI_CHAR, &length);
    char *text = resize(NULL, (size_t)length + 1);
    code = PMPI_Recv(text, length, MPI_CHAR, rank, 0, comm, MPI_STATUS_IGNORE);
    text[length] = 0;
    if (code == MPI_SUCCESS)
        hocket_log_merge(text);
    free(text);
    return code;
}

static int send_to(int rank, MPI_Comm comm)
{
    char *text = text_by(hocket_log_lines);
    int code = PMPI_Send(text, (int)strlen(text), MPI_CHAR, rank, 0, comm);
    free(text);
    return code;
}

/* Adds the entries of all ranks to the log of rank 0. */
static int gather(MPI_Comm comm)
{
    int ranks, code = PMPI_Comm_size(comm, &ranks);
    for (int step = 1; step < ranks && code == MPI_SUCCESS; step *= 2) {
        if (shim.world_rank & step)
            return send_to(shim.world_rank - step, comm);
        if (shim.world_rank + step < ranks)
            code = merge_from(shim.world_rank + step, comm);
    }
    return code;
}

/* The first of these variables that is set, or NULL. */
static const char *first_set(const char *const *names)
{
    for (; *names; names++)
        if (getenv(*names) && *getenv(*names))
            return getenv(*names);
    return NULL;
}

/* Writes texts to a new file, which gets its name once it is complete. Returns 0, or -1 with errno set. */
static int write_file(const char *path, const char *about, const char *entries)
{
    char part[PATH_ROOM + TEXT_ROOM];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "wx");
    if (!file)
        return -1;
    int is_written = fputs(about, file) >= 0 && fputs(entries, file) >= 0;
    is_written = fclose(file) == 0 && is_written;
    if (is_written && rename(part, path) == 0)
        return 0;
    int error = errno;
    unlink(part);
    errno = error;
    return -1;
}

static int count_nodes(int ranks)
{
    int nodes = 0;
    for (int i = 0; i < ranks; i++)
        nodes += shim.nodes[i] == i;
    return nodes;
}

static void write_job_log(void)
{
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID", NULL};
    static const char *const users[] = {"USER", "LOGNAME", NULL};
    char library[MPI_MAX_LIBRARY_VERSION_STRING], program[PATH_ROOM] = "", host[TEXT_ROOM] = "";
    char date[TEXT_ROOM], path[PATH_ROOM + TEXT_ROOM / 2], user[TEXT_ROOM];
    struct tm at;
    int length, ranks;
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        *program = 0;
    gethostname(host, TEXT_ROOM / 4 - 1);
    snprintf(user, sizeof user, "%ld", (long)getuid());
    gmtime_r(&job_start.tv_sec, &at);
    strftime(date, sizeof date, "%Y%m%dT%H%M%S", &at);
    snprintf(path, sizeof path, "%s/%s.%09ldZ-%.64s-%ld.jsonl", folder, date, job_start.tv_nsec, host, (long)getpid());
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &at);
    const char *rules = getenv("HOCKET_RULES");
    hocket_job job = {.mpi = library,
                      .program = *program ? program : NULL,
                      .user = first_set(users) ? first_set(users) : user,
                      .host = host,
                      .job = first_set(jobs),
                      .rules = rules && *rules ? rules : NULL,
                      .start = date,
                      .elapsed_s = PMPI_Wtime() - job_start_s,
                      .ranks = ranks,
                      .nodes = count_nodes(ranks)};
    size_t room = hocket_log_job(&job, NULL, 0) + 1;
    char *about = resize(NULL, room), *entries = text_by(hocket_log_lines);
    hocket_log_job(&job, about, room);
    if (write_file(path, about, entries))
        tell_no_log(path, strerror(errno));
    free(about);
    free(entries);
}

void end_job_log(void)
{
    MPI_Comm comm;
    /* A split copies no attributes: their functions belong to the program. */
    if (!shim.log_job || PMPI_Comm_split(MPI_COMM_WORLD, 0, shim.world_rank, &comm) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int code = gather(comm);
    PMPI_Comm_free(&comm);
    if (shim.world_rank != 0)
        return;
    if (code == MPI_SUCCESS)
        write_job_log();
    else
        tell_no_log(folder, "some ranks gave no log");
}
