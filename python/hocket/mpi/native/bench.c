/* Times a collective by several rules, in turn, at several sizes: lines of JSON.
 *
 *     bench COLLECTIVE ROOT NEIGHBORS SHARE SECONDS ROUNDS TOGETHER SIZE,SIZE,.. RULE RULE ..
 *
 * NEIGHBORS are those of a neighbourhood, such as torus:4x4, mesh:4x4 or moore:4x4. It runs with the library preloaded. For each size, each rule is set once, one call is made with the library's count on, and
 * its result checked: {"size":S,"rule":R,"is_right":B,"has_run":B,"before":TEXT,"after":TEXT}, where has_run says whether the
 * library counts one call more of the rule's algorithm, and the texts are its counts. Then come rounds, each of which takes a
 * sample by each rule that had its way, until the 95 % confidence intervals of all medians reach no farther than SHARE of them,
 * or SECONDS have passed, but ROUNDS at least: {"size":S,"rule":R,"made":M,"samples_s":[..]}. A sample is one call, of data that was
 * just written; it begins with a barrier, and, if TOGETHER is 1, at a time that rank 0 names, by clocks that are compared
 * before. It ends when the last rank is done; without a common clock it is the time of the rank that took longest. M calls were
 * made in all, the one for proof among them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "together.h"

enum { MOST_ROUNDS = 2000, MOST_RULES = 64, LINE_BYTES = 64, MOST_DIMENSIONS = 8 };

static int rank, ranks, root, starts_together, has_one_clock = 1;
static const char *collective;
static int *counts, *places;
/* The communicator of a neighbourhood; of each block that is received its source, and its number there. */
static MPI_Comm near = MPI_COMM_NULL;
static int *sources, *sent_as, neighbors, blocks;
static size_t bytes;
static long calls_made[MOST_RULES];
static char *input, *result;
static int (*set_rules)(const char *, const char *, char *, size_t);
static size_t (*log_summary)(char *, size_t);
static void (*count_calls)(int);

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "hocket bench: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *function(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        fail(name, "is not there, expected the library to be preloaded");
    return found;
}

static int is(const char *name)
{
    return strcmp(collective, name) == 0;
}

/* A collective, or its form with blocks of different sizes, which are alike here. */
static int is_or_v(const char *name)
{
    size_t length = strlen(name);
    return strncmp(collective, name, length) == 0 && strcmp(collective + length, is(name) ? "" : "v") == 0;
}

static int is_reduction(void)
{
    return is("allreduce") || is("reduce") || is("scan") || is("exscan") || is("reduce_scatter");
}

/* Calls, with data that can be checked */

static void call(void)
{
    int count = (int)(is_reduction() ? bytes / sizeof(double) : bytes);
    if (is("allreduce"))
        MPI_Allreduce(input, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (is("reduce"))
        MPI_Reduce(input, result, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    else if (is("scan"))
        MPI_Scan(input, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (is("exscan"))
        MPI_Exscan(input, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (is("reduce_scatter"))
        MPI_Reduce_scatter_block(input, result, count / ranks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (is("broadcast"))
        MPI_Bcast(rank == root ? input : result, count, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (is("allgather"))
        MPI_Allgather(input, count, MPI_BYTE, result, count, MPI_BYTE, MPI_COMM_WORLD);
    else if (is("alltoall"))
        MPI_Alltoall(input, count, MPI_BYTE, result, count, MPI_BYTE, MPI_COMM_WORLD);
    else if (is("alltoallv"))
        MPI_Alltoallv(input, counts, places, MPI_BYTE, result, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (is("neighbor_allgather"))
        MPI_Neighbor_allgather(input, count, MPI_BYTE, result, count, MPI_BYTE, near);
    else if (is("neighbor_alltoall"))
        MPI_Neighbor_alltoall(input, count, MPI_BYTE, result, count, MPI_BYTE, near);
    else if (is("gatherv"))
        MPI_Gatherv(input, count, MPI_BYTE, result, counts, places, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (is("scatterv"))
        MPI_Scatterv(input, counts, places, MPI_BYTE, result, count, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (is("gather"))
        MPI_Gather(input, count, MPI_BYTE, result, count, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (is("scatter"))
        MPI_Scatter(input, count, MPI_BYTE, result, count, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (is("barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else
        fail(collective, "is no collective");
}

/* The number that rank `from` has at a place of its input. */
static double number(int from, size_t place)
{
    return (double)((from + 1) * (int)(place % 97 + 1));
}

static char byte(int from, size_t place)
{
    return (char)(31 * from + (int)(place % 251));
}

static void fill(void)
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

/* The first `count` numbers are sums of what ranks 0 to `last` have from `place` on. */
static int are_sums(size_t place, size_t count, int last)
{
    const double *numbers = (const double *)result;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != number(0, place + i) * (last + 1) * (last + 2) / 2)
            return 0;
    return 1;
}

/* Block `block` of the result is what rank `from` has from `place` on. */
static int is_block(size_t block, int from, size_t place)
{
    for (size_t i = 0; i < bytes; i++)
        if (result[block * bytes + i] != byte(from, place + i))
            return 0;
    return 1;
}

static int is_right(void)
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
    PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* Samples */

static void set_rule(const char *rule)
{
    char problem[512];
    PMPI_Barrier(MPI_COMM_WORLD);
    if (set_rules(rule, "rule", problem, sizeof problem))
        fail(rule, problem);
}

/* Writes what the input has: a program that calls a collective has just made its data, and no other processor holds it. */
static void write_input(void)
{
    int used_blocks = is_or_v("alltoall") || is_or_v("scatter") ? ranks : is("neighbor_alltoall") ? neighbors : 1;
    size_t used = bytes * (size_t)used_blocks;
    volatile char *bytes_of_lines = input;
    for (size_t i = 0; i < used; i += LINE_BYTES)
        bytes_of_lines[i] = bytes_of_lines[i];
}

/* Whether the clocks of all ranks are one; if not, they drift, and are compared again and again. */
static int compare_clocks(void)
{
    for (int other = 1; other < ranks; other++)
        if (rank == 0 || rank == other)
            compare_clock(rank, other);
    int is_one = offset_s == 0, are_one;
    PMPI_Allreduce(&is_one, &are_one, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return are_one;
}

static double sample_s(int rule)
{
    double found[2];
    do {
        calls_made[rule]++;
        write_input();
        PMPI_Barrier(MPI_COMM_WORLD);
        double start_s = common_s();
        int is_late = 0;
        if (starts_together) {
            start_s += lead_s;
            PMPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            is_late = wait_until(start_s);
        }
        call();
        double own[2] = {common_s() - start_s, is_late};
        PMPI_Allreduce(own, found, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        lead_s *= found[1] > 0 ? 2 : 1;
    } while (found[1] > 0);
    return found[0];
}

static void print_text(const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
}

static char *summary(void)
{
    size_t length = log_summary(NULL, 0);
    char *text = malloc(length + 1);
    if (text)
        log_summary(text, length + 1);
    return text;
}

/* The number of calls in the line of a summary that ends with a text. */
static long calls_of(const char *summary, const char *end)
{
    const char *found = strstr(summary, end);
    while (found && found > summary && found[-1] != '\n')
        found--;
    return found ? atol(found) : 0;
}

/* The end of the line of a rule's algorithm. */
static void expect(const char *rule, char *end, size_t room)
{
    const char *name = strchr(rule, ':') + 2;
    if (strcmp(name, "native") == 0)
        snprintf(end, room, " left to MPI: no rule for it\n");
    else
        snprintf(end, room, " %s %.*s\n", collective, (int)strcspn(name, ","), name);
}

/* Makes one call by a rule, counts and checks it; returns 1 if the rule's algorithm ran. */
static int prove(const char *rule, int number)
{
    char end[256];
    set_rule(rule);
    expect(rule, end, sizeof end);
    char *before = summary();
    fill();
    count_calls(1);
    call();
    count_calls(0);
    calls_made[number] = 1;
    int right = is_right(), has_run = 0;
    char *after = summary();
    if (rank == 0 && before && after) {
        has_run = calls_of(after, end) == calls_of(before, end) + 1;
        printf("{\"size\":%zu,\"rule\":%d,\"is_right\":%s,\"has_run\":%s,\"before\":\"", bytes, number,
               right ? "true" : "false", has_run ? "true" : "false");
        print_text(before);
        printf("\",\"after\":\"");
        print_text(after);
        printf("\"}\n");
        fflush(stdout);
    }
    free(before);
    free(after);
    PMPI_Bcast(&has_run, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return right && has_run;
}

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* Returns 1 if the interval of the median, between order statistics, is narrow enough. */
static int is_closed(const double *samples, int count, double share)
{
    static double sorted[MOST_ROUNDS];
    memcpy(sorted, samples, sizeof *samples * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    int reach = (int)ceil(1.96 * sqrt(count) / 2), low = count / 2 - reach, high = count / 2 + reach;
    if (low < 0 || high >= count)
        return 0;
    double median = sorted[count / 2];
    return sorted[high] - median <= share * median && median - sorted[low] <= share * median;
}

static void measure(int count, char *rules[], double share, double limit_s, int least_rounds)
{
    static double samples[MOST_RULES][MOST_ROUNDS];
    int takes_part[MOST_RULES], rounds = 0, goes_on = 1;
    for (int i = 0; i < count; i++)
        takes_part[i] = prove(rules[i], i);
    double start_s = PMPI_Wtime();
    while (goes_on) {
        if (!has_one_clock)
            compare_clocks();
        for (int turn = 0; turn < count; turn++) {
            int i = (turn + rounds) % count;
            if (!takes_part[i])
                continue;
            set_rule(rules[i]);
            sample_s(i); /* after another rule's calls */
            samples[i][rounds] = sample_s(i);
        }
        rounds++;
        int is_open = rounds < least_rounds;
        for (int i = 0; i < count && !is_open; i++)
            is_open = takes_part[i] && !is_closed(samples[i], rounds, share);
        goes_on = is_open && rounds < MOST_ROUNDS && (rounds < least_rounds || PMPI_Wtime() - start_s < limit_s);
        PMPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; rank == 0 && i < count; i++) {
        if (!takes_part[i])
            continue;
        printf("{\"size\":%zu,\"rule\":%d,\"made\":%ld,\"samples_s\":[", bytes, i, calls_made[i]);
        for (int k = 0; k < rounds; k++)
            printf(k ? ",%.4e" : "%.4e", samples[i][k]);
        printf("]}\n");
    }
    fflush(stdout);
}

/* Memory for the sources of so many blocks. */
static void make_room(int received)
{
    neighbors = received;
    blocks = ranks > received ? ranks : received;
    sources = malloc(sizeof *sources * 2 * (size_t)received);
    if (!sources)
        fail("neighbours", "out of memory");
    sent_as = sources + received;
}

/* The places around each rank of a grid whose borders meet: block i goes to the i-th place, and comes from the opposite one. */
static void add_diagonals(int dimensions)
{
    MPI_Comm grid = near;
    int all = 1, at[MOST_DIMENSIONS], *destinations;
    for (int i = 0; i < dimensions; i++)
        all *= 3;
    make_room(all - 1);
    destinations = malloc(sizeof *destinations * (size_t)all);
    if (!destinations)
        fail("neighbours", "out of memory");
    for (int i = 0; i < neighbors; i++)
        for (int way = 1; way >= -1; way -= 2) {
            int place = i < all / 2 ? i : i + 1;
            MPI_Cart_coords(grid, rank, dimensions, at);
            for (int j = dimensions - 1; j >= 0; j--, place /= 3)
                at[j] += way * (place % 3 - 1);
            MPI_Cart_rank(grid, at, way == 1 ? &destinations[i] : &sources[i]);
            sent_as[i] = i;
        }
    MPI_Dist_graph_create_adjacent(grid, neighbors, sources, MPI_UNWEIGHTED, neighbors, destinations, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &near);
    MPI_Comm_free(&grid);
    free(destinations);
}

static void make_neighbors(char *text)
{
    int dimensions = 0, sizes[MOST_DIMENSIONS], periods[MOST_DIMENSIONS];
    char *kind = strtok(text, ":");
    for (char *size; dimensions < MOST_DIMENSIONS && (size = strtok(NULL, "x")); dimensions++) {
        sizes[dimensions] = atoi(size);
        periods[dimensions] = strcmp(kind, "mesh") != 0;
    }
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periods, 0, &near);
    if (near == MPI_COMM_NULL)
        fail(kind, "expected dimensions of all ranks");
    if (strcmp(kind, "moore") == 0) {
        add_diagonals(dimensions);
        return;
    }
    make_room(2 * dimensions);
    for (int i = 0; i < dimensions; i++)
        MPI_Cart_shift(near, i, 1, &sources[2 * i], &sources[2 * i + 1]);
    for (int i = 0; i < neighbors; i++)
        sent_as[i] = i ^ 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 10 || argc - 9 > MOST_RULES)
        fail("arguments", "expected COLLECTIVE ROOT NEIGHBORS SHARE SECONDS ROUNDS TOGETHER SIZES and up to 64 rules");
    collective = argv[1];
    root = atoi(argv[2]);
    *(void **)&set_rules = function("hocket_set_rules");
    *(void **)&log_summary = function("hocket_log_summary");
    *(void **)&count_calls = function("hocket_count_calls");
    count_calls(0);
    counts = malloc(sizeof *counts * 2 * (size_t)ranks);
    if (!counts)
        fail("counts", "out of memory");
    places = counts + ranks;
    blocks = ranks;
    if (is("neighbor_allgather") || is("neighbor_alltoall"))
        make_neighbors(argv[3]);
    starts_together = atoi(argv[7]);
    if (starts_together)
        has_one_clock = compare_clocks();
    for (char *size = strtok(argv[8], ","); size; size = strtok(NULL, ",")) {
        bytes = strtoull(size, NULL, 10);
        input = malloc(bytes * (size_t)blocks + 8);
        result = malloc(bytes * (size_t)blocks + 8);
        if (!input || !result)
            fail(size, "out of memory");
        measure(argc - 9, argv + 9, atof(argv[4]), atof(argv[5]), atoi(argv[6]));
        free(input);
        free(result);
    }
    if (near != MPI_COMM_NULL)
        MPI_Comm_free(&near);
    MPI_Finalize();
    return 0;
}
