#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"
#include "together.h"

/* A start in time multiplies the lead by SHRINKING; a late start doubles it up to MOST_LEAD_S, since ranks without a
 * processor would otherwise double it forever. */
#define SHRINKING 0.99
#define MOST_LEAD_S 1e-3

enum { LINE_BYTES = 64 };

int rank, ranks, world_rank, world_ranks, root, starts_together, has_one_clock = 1, results = 1;
const char *collective;
MPI_Comm members, near = MPI_COMM_NULL;
int *counts, *places, *sources, *sent_as, neighbors, blocks;
size_t bytes;
long calls_made;
char *input, *result;
static int (*set_rules)(const char *, const char *, char *, size_t);
static size_t (*log_summary)(char *, size_t);
static void (*count_calls)(int);

void fail(const char *what, const char *why)
{
    fprintf(stderr, "hocket: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

void *room(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        fail("memory", "none is left");
    return memory;
}

static void *library_function(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (!function)
        fail(name, "not found, expected Hocket's library to be preloaded");
    return function;
}

int is(const char *name)
{
    return strcmp(collective, name) == 0;
}

/* Returns 1 for a collective and for its v-form, whose blocks have equal sizes here. */
static int is_or_v(const char *name)
{
    size_t length = strlen(name);
    return strncmp(collective, name, length) == 0 && strcmp(collective + length, is(name) ? "" : "v") == 0;
}

static int is_reduction(void)
{
    return is("allreduce") || is("reduce") || is("scan") || is("exscan") || is("reduce_scatter");
}

/* The bytes of one result, with room to keep results on cache lines of their own. */
static size_t result_room(void)
{
    return (bytes * (size_t)blocks / LINE_BYTES + 2) * LINE_BYTES;
}

/* Calls and the check of their data */

/* Makes the call of a collective and returns: the call that blocks, or, with a request, its nonblocking form. */
#define CASE(name, blocking, nonblocking, ...)                                                                         \
    if (is(name))                                                                                                      \
        return request ? MPI_##nonblocking(__VA_ARGS__, request) : MPI_##blocking(__VA_ARGS__)

static int make(char *output, MPI_Request *request)
{
    int count = (int)(is_reduction() ? bytes / sizeof(double) : bytes);
    CASE("allreduce", Allreduce, Iallreduce, input, output, count, MPI_DOUBLE, MPI_SUM, members);
    CASE("reduce", Reduce, Ireduce, input, output, count, MPI_DOUBLE, MPI_SUM, root, members);
    CASE("scan", Scan, Iscan, input, output, count, MPI_DOUBLE, MPI_SUM, members);
    CASE("exscan", Exscan, Iexscan, input, output, count, MPI_DOUBLE, MPI_SUM, members);
    CASE("reduce_scatter", Reduce_scatter_block, Ireduce_scatter_block,
         input, output, count / ranks, MPI_DOUBLE, MPI_SUM, members);
    CASE("broadcast", Bcast, Ibcast, rank == root ? input : output, count, MPI_BYTE, root, members);
    CASE("allgather", Allgather, Iallgather, input, count, MPI_BYTE, output, count, MPI_BYTE, members);
    CASE("alltoall", Alltoall, Ialltoall, input, count, MPI_BYTE, output, count, MPI_BYTE, members);
    CASE("alltoallv", Alltoallv, Ialltoallv,
         input, counts, places, MPI_BYTE, output, counts, places, MPI_BYTE, members);
    CASE("neighbor_allgather", Neighbor_allgather, Ineighbor_allgather,
         input, count, MPI_BYTE, output, count, MPI_BYTE, near);
    CASE("neighbor_alltoall", Neighbor_alltoall, Ineighbor_alltoall,
         input, count, MPI_BYTE, output, count, MPI_BYTE, near);
    CASE("gatherv", Gatherv, Igatherv, input, count, MPI_BYTE, output, counts, places, MPI_BYTE, root, members);
    CASE("scatterv", Scatterv, Iscatterv, input, counts, places, MPI_BYTE, output, count, MPI_BYTE, root, members);
    CASE("gather", Gather, Igather, input, count, MPI_BYTE, output, count, MPI_BYTE, root, members);
    CASE("scatter", Scatter, Iscatter, input, count, MPI_BYTE, output, count, MPI_BYTE, root, members);
    CASE("barrier", Barrier, Ibarrier, members);
    fail(collective, "unknown collective");
    return MPI_ERR_OTHER;
}

int call(void)
{
    return make(result, NULL);
}

int begin_nonblocking(int slot, MPI_Request *request)
{
    return make(result + result_room() * (size_t)slot, request);
}

/* The number at a place of the input of rank `from`. */
static double number(int from, size_t place)
{
    return (double)((from + 1) * (int)(place % 97 + 1));
}

static char byte(int from, size_t place)
{
    return (char)(31 * from + (int)(place % 251));
}

void fill(void)
{
    double *numbers = (double *)input;
    for (int i = 0; i < ranks; i++) {
        counts[i] = (int)bytes;
        places[i] = (int)bytes * i;
    }
    if (is_reduction())
        for (size_t i = 0; i < bytes / sizeof(double); i++)
            numbers[i] = number(rank, i);
    else
        for (size_t i = 0; i < bytes * (size_t)blocks; i++)
            input[i] = byte(rank, i);
    memset(result, 0x55, bytes * (size_t)blocks);
}

/* Returns 1 if the first `count` numbers are the sums over ranks 0 to `last`, from `place` on. */
static int are_sums(size_t place, size_t count, int last)
{
    const double *numbers = (const double *)result;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != number(0, place + i) * (last + 1) * (last + 2) / 2)
            return 0;
    return 1;
}

/* Returns 1 if block `block` of the result is the data of rank `from`, from `place` on. */
static int is_block(size_t block, int from, size_t place)
{
    for (size_t i = 0; i < bytes; i++)
        if (result[block * bytes + i] != byte(from, place + i))
            return 0;
    return 1;
}

int is_right(void)
{
    size_t count = bytes / sizeof(double), own = count / (size_t)ranks;
    int right = 1;
    if (is("allreduce") || (is("reduce") && rank == root))
        right = are_sums(0, count, ranks - 1);
    else if (is("scan"))
        right = are_sums(0, count, rank);
    else if (is("exscan") && rank > 0)
        right = are_sums(0, count, rank - 1);
    else if (is("reduce_scatter"))
        right = are_sums(own * (size_t)rank, own, ranks - 1);
    else if (is("broadcast") && rank != root)
        right = is_block(0, root, 0);
    else if (is_or_v("scatter"))
        right = is_block(0, root, bytes * (size_t)rank);
    for (int from = 0; from < ranks; from++) {
        if (is("allgather") || (is_or_v("gather") && rank == root))
            right = right && is_block((size_t)from, from, 0);
        else if (is_or_v("alltoall"))
            right = right && is_block((size_t)from, from, bytes * (size_t)rank);
    }
    for (int i = 0; i < neighbors; i++)
        if (sources[i] != MPI_PROC_NULL)
            right = right && is_block((size_t)i, sources[i], is("neighbor_alltoall") ? bytes * (size_t)sent_as[i] : 0);
    int all;
    PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, members);
    return all;
}

/* Samples */

void set_rule(const char *rule)
{
    char problem[512];
    PMPI_Barrier(MPI_COMM_WORLD);
    if (set_rules(rule, "rule", problem, sizeof problem))
        fail(rule, problem);
}

void write_input(void)
{
    int used_blocks = is_or_v("alltoall") || is_or_v("scatter") ? ranks : is("neighbor_alltoall") ? neighbors : 1;
    size_t used_bytes = bytes * (size_t)used_blocks;
    volatile char *bytes_of_lines = input;
    for (size_t i = 0; i < used_bytes; i += LINE_BYTES)
        bytes_of_lines[i] = bytes_of_lines[i];
}

int compare_clocks(void)
{
    for (int other = 1; other < world_ranks; other++)
        if (world_rank == 0 || world_rank == other)
            compare_clock(world_rank, other);
    int is_one = offset_s == 0, are_one;
    PMPI_Allreduce(&is_one, &are_one, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return are_one;
}

double named_start_s(void)
{
    double start_s = common_s() + lead_s;
    PMPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return start_s;
}

int must_repeat(int is_late)
{
    /* Clocks that were compared while other processes ran may differ by more than any lead. */
    if (is_late && lead_s >= MOST_LEAD_S && !has_one_clock)
        compare_clocks();
    lead_s = is_late ? fmin(2 * lead_s, MOST_LEAD_S) : fmax(SHRINKING * lead_s, FIRST_LEAD_S);
    return is_late;
}

double sample_s(int (*function)(void))
{
    double maxima[2];
    do {
        calls_made++;
        write_input();
        PMPI_Barrier(MPI_COMM_WORLD);
        double start_s = common_s();
        int is_late = 0;
        if (starts_together) {
            start_s = named_start_s();
            is_late = wait_until(start_s);
        }
        function();
        double own[2] = {common_s() - start_s, is_late};
        PMPI_Allreduce(own, maxima, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    } while (must_repeat(maxima[1] > 0));
    return maxima[0];
}

void print_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            putc(*text, out);
}

void print_times(const char *name, const double *times_s, int count)
{
    printf(",\"%s\":[", name);
    for (int k = 0; k < count; k++)
        printf(k ? ",%.4e" : "%.4e", times_s[k]);
    printf("]");
}

void print_clock_error(void)
{
    double largest_s;
    PMPI_Reduce(&clock_error_s, &largest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("{\"clock_error_s\":%.4e}\n", largest_s);
}

static char *summary(void)
{
    size_t length = log_summary(NULL, 0);
    char *text = malloc(length + 1);
    if (text)
        log_summary(text, length + 1);
    return text;
}

/* The number of calls in the lines of a summary that end with `end`. */
static long calls_of(const char *summary, const char *end)
{
    long calls = 0;
    for (const char *match = strstr(summary, end); match; match = strstr(match + 1, end)) {
        const char *line = match;
        while (line > summary && line[-1] != '\n')
            line--;
        calls += atol(line);
    }
    return calls;
}

/* Writes the end of the summary's line for the rule's algorithm. */
static void expect(const char *rule, char *end, size_t size)
{
    const char *name = strchr(rule, ':') + 2;
    if (strcmp(name, "native") == 0)
        snprintf(end, size, " left to MPI: no rule for it\n");
    else
        snprintf(end, size, " %s %.*s\n", collective, (int)strcspn(name, ","), name);
}

int prove(FILE *out, const char *rule, int number, int (*function)(void))
{
    char end[256];
    set_rule(rule);
    expect(rule, end, sizeof end);
    char *before = summary();
    fill();
    count_calls(1);
    function();
    count_calls(0);
    int right = is_right(), has_run = 0;
    char *after = summary();
    if (rank == 0 && before && after) {
        has_run = calls_of(after, end) == calls_of(before, end) + 1;
        fprintf(out, "{\"size\":%zu,\"rule\":%d,\"is_right\":%s,\"has_run\":%s,\"before\":\"", bytes,
                number, right ? "true" : "false", has_run ? "true" : "false");
        print_text(out, before);
        fprintf(out, "\",\"after\":\"");
        print_text(out, after);
        fprintf(out, "\"}\n");
        fflush(out);
    }
    free(before);
    free(after);
    PMPI_Bcast(&has_run, 1, MPI_INT, 0, members);
    return right && has_run;
}

void begin(int are_together)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    rank = world_rank;
    ranks = world_ranks;
    members = MPI_COMM_WORLD;
    *(void **)&set_rules = library_function("hocket_set_rules");
    *(void **)&log_summary = library_function("hocket_log_summary");
    *(void **)&count_calls = library_function("hocket_count_calls");
    count_calls(0);
    counts = room(sizeof *counts * 2 * (size_t)ranks);
    places = counts + ranks;
    blocks = ranks;
    starts_together = are_together;
    if (starts_together)
        has_one_clock = compare_clocks();
}

void make_buffers(size_t size)
{
    bytes = size;
    input = room(bytes * (size_t)blocks + 8);
    result = room(result_room() * (size_t)results);
}

void free_buffers(void)
{
    free(input);
    free(result);
}
