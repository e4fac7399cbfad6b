/* Times a collective by several rules, in turns, at several sizes. Prints lines of JSON.
 *
 *     bench COLLECTIVE ROOT NEIGHBORS SHARE SECONDS ROUNDS TOGETHER SCENE SIZE,SIZE,.. RULE RULE ..
 *
 * It runs with the library preloaded. scene.h describes SCENE; in a cadence with several calls at a time, or a
 * computation, rules are for nonblocking calls. NEIGHBORS describes a neighbourhood: torus:4x4, mesh:4x4 or moore:4x4.
 *
 * For each size and each rule it makes one counted call and checks the result:
 * {"size":S,"rule":R,"is_right":B,"has_run":B,"before":TEXT,"after":TEXT}. The texts are the counts of the library.
 * has_run says whether the library counts one more call of the rule's algorithm.
 *
 * Then it measures in rounds. Each round takes one sample (see timing.h) by each rule that passed the check. Rounds end
 * when the 95 % confidence intervals of all medians are within SHARE of the median, or after SECONDS; there are at
 * least ROUNDS rounds: {"size":S,"rule":R,"made":M,"samples_s":[..]}. M counts all calls, including the checked one. With a
 * scene, the object also has the `scene_field` of each sample; arrivals end with a whole number of their patterns.
 *
 * If the clocks of the ranks were compared, the last line tells the largest error: {"clock_error_s":E}.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"
#include "timing.h"

enum { MOST_ROUNDS = 2000, MOST_RULES = 64, MOST_DIMENSIONS = 8 };

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

/* Returns 1 if the median's 95 % confidence interval, between order statistics, is within `share` of it. */
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
    static double samples[MOST_RULES][MOST_ROUNDS], others[MOST_RULES][MOST_ROUNDS];
    int (*function)(void) = are_nonblocking ? nonblocking_call : call;
    int takes_part[MOST_RULES], rounds = 0, goes_on = 1;
    long sample_counts[MOST_RULES];
    for (int i = 0; i < count; i++) {
        takes_part[i] = prove(stdout, rules[i], i, function);
        sample_counts[i] = 1;
    }
    double start_s = PMPI_Wtime();
    while (goes_on) {
        if (!has_one_clock)
            compare_clocks();
        for (int turn = 0; turn < count; turn++) {
            int i = (turn + rounds) % count;
            if (!takes_part[i])
                continue;
            set_rule(rules[i]);
            calls_made = 0;
            sample_s(function); /* warms up after another rule's calls */
            samples[i][rounds] = scene_field ? scene_sample_s(rounds, &others[i][rounds]) : sample_s(function);
            sample_counts[i] += calls_made;
        }
        rounds++;
        int is_open = rounds < least_rounds || rounds % patterns;
        for (int i = 0; i < count && !is_open; i++)
            is_open = takes_part[i] && !is_closed(samples[i], rounds, share);
        goes_on = is_open && rounds < MOST_ROUNDS - MOST_ROUNDS % patterns
                  && (rounds < least_rounds || rounds % patterns || PMPI_Wtime() - start_s < limit_s);
        PMPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; rank == 0 && i < count; i++) {
        if (!takes_part[i])
            continue;
        printf("{\"size\":%zu,\"rule\":%d,\"made\":%ld", bytes, i, sample_counts[i]);
        print_times("samples_s", samples[i], rounds);
        if (scene_field)
            print_times(scene_field, others[i], rounds);
        printf("}\n");
    }
    fflush(stdout);
}

/* Memory for the sources of so many blocks. */
static void make_room(int received)
{
    neighbors = received;
    blocks = ranks > received ? ranks : received;
    sources = room(sizeof *sources * 2 * (size_t)received);
    sent_as = sources + received;
}

/* Makes a periodic Moore neighbourhood: block i goes to the i-th surrounding place, and comes from the opposite. */
static void add_diagonals(int dimensions)
{
    MPI_Comm grid = near;
    int all = 1, at[MOST_DIMENSIONS], *destinations;
    for (int i = 0; i < dimensions; i++)
        all *= 3;
    make_room(all - 1);
    destinations = room(sizeof *destinations * (size_t)all);
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
        fail(kind, "expected dimensions whose product is the number of ranks");
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
    if (argc < 11 || argc - 10 > MOST_RULES)
        fail("arguments",
             "expected COLLECTIVE ROOT NEIGHBORS SHARE SECONDS ROUNDS TOGETHER SCENE SIZES and up to 64 rules");
    collective = argv[1];
    root = atoi(argv[2]);
    begin(atoi(argv[7]));
    read_scene(argv[8]);
    if (scene_field && !starts_together)
        has_one_clock = compare_clocks();
    if (is("neighbor_allgather") || is("neighbor_alltoall"))
        make_neighbors(argv[3]);
    if (are_nonblocking)
        prepare_nonblocking(near != MPI_COMM_NULL ? near : members);
    for (char *size = strtok(argv[9], ","); size; size = strtok(NULL, ",")) {
        make_buffers(strtoull(size, NULL, 10));
        measure(argc - 10, argv + 10, atof(argv[4]), atof(argv[5]), atoi(argv[6]));
        free_buffers();
    }
    if (starts_together || scene_field)
        print_clock_error();
    if (near != MPI_COMM_NULL)
        MPI_Comm_free(&near);
    MPI_Finalize();
    return 0;
}
