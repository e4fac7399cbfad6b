/* Calls through the preloaded library and the same calls directly by their PMPI names, in turns in one program.
 *
 *     mpicc -O2 benchmarks/library_cost.c -o library_cost
 *
 * Short calls that rules leave to MPI by their size:
 *
 *     hocket mpi run -n 2 --rule 'allreduce[size=64KiB..]: ring' --rule 'broadcast[size=64KiB..]: binomial' ... -- ./library_cost
 *
 * Starts of persistent collectives, beside nonblocking calls:
 *
 *     hocket mpi run -n 2 --rule 'iallreduce: recursive_doubling' --rule 'ialltoallv: pairwise_exchange' -- ./library_cost
 *
 * Prints, for each case and way, the median of rank 0's time per call in ns, and the median of its ratio to the time of the first way
 * over the turns, with its 95 % interval. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 301, CALLS = 500, COUNT = 8, MOST_RANKS = 64, MOST_WAYS = 4 };

static double in[MOST_RANKS * COUNT * 2], out[MOST_RANKS * COUNT * 2];
static int ones[MOST_RANKS], places_bytes[MOST_RANKS];
static MPI_Datatype types[MOST_RANKS];

#define BLOCKING(name, function, ...)                                                                                  \
    static void direct_##name(void) { PMPI_##function(__VA_ARGS__); }                                                  \
    static void through_##name(void) { MPI_##function(__VA_ARGS__); }
BLOCKING(allreduce, Allreduce, in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
BLOCKING(broadcast, Bcast, in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)
BLOCKING(allgather, Allgather, in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD)
BLOCKING(alltoall, Alltoall, in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD)
BLOCKING(reduce_scatter, Reduce_scatter_block, in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
BLOCKING(barrier, Barrier, MPI_COMM_WORLD)

#define STARTED(P, way, name, nonblocking, init, ...)                                                                  \
    static void way##_nonblocking_##name(void)                                                                         \
    {                                                                                                                  \
        MPI_Request request;                                                                                           \
        P##nonblocking(__VA_ARGS__, &request);                                                                         \
        P##Wait(&request, MPI_STATUS_IGNORE);                                                                          \
    }                                                                                                                  \
    static void way##_persistent_##name(void)                                                                          \
    {                                                                                                                  \
        P##Start(&way##_planned);                                                                                      \
        P##Wait(&way##_planned, MPI_STATUS_IGNORE);                                                                    \
    }                                                                                                                  \
    static void way##_plan_##name(void) { P##init(__VA_ARGS__, MPI_INFO_NULL, &way##_planned); }
#define BOTH_STARTED(...) STARTED(PMPI_, direct, __VA_ARGS__) STARTED(MPI_, through, __VA_ARGS__)
static MPI_Request direct_planned, through_planned;
BOTH_STARTED(allreduce, Iallreduce, Allreduce_init, in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
BOTH_STARTED(alltoallw, Ialltoallw, Alltoallw_init, in, ones, places_bytes, types, out, ones, places_bytes, types, MPI_COMM_WORLD)

struct way {
    const char *name;
    void (*call)(void);
};
static const struct {
    const char *name;
    void (*plans[2])(void);
    struct way ways[MOST_WAYS];
} cases[] = {
#define SHORT(name) {#name, {NULL}, {{"direct", direct_##name}, {"through the library", through_##name}}}
#define PLANNED(name)                                                                                                  \
    {#name,                                                                                                            \
     {direct_plan_##name, through_plan_##name},                                                                        \
     {{"nonblocking", through_nonblocking_##name}, {"persistent", through_persistent_##name},                          \
      {"MPI's nonblocking", direct_nonblocking_##name}, {"MPI's persistent", direct_persistent_##name}}}
    SHORT(allreduce), SHORT(broadcast), SHORT(allgather), SHORT(alltoall), SHORT(reduce_scatter), SHORT(barrier),
    PLANNED(allreduce), PLANNED(alltoallw)};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, const struct way *ways, int count, int rank)
{
    static double times_ns[MOST_WAYS][TURNS], ratios[TURNS];
    int apart = (int)ceil(0.98 * sqrt(TURNS)); /* of order statistics, for 95 % */
    for (int turn = -1; turn < TURNS; turn++) /* the first one warms up */
        for (int i = 0; i < count; i++) {
            int way = turn % 2 ? count - 1 - i : i;
            PMPI_Barrier(MPI_COMM_WORLD);
            double begin_s = PMPI_Wtime();
            for (int call = 0; call < CALLS; call++)
                ways[way].call();
            if (turn >= 0)
                times_ns[way][turn] = 1e9 * (PMPI_Wtime() - begin_s) / CALLS;
        }
    for (int way = count - 1; way >= 0 && rank == 0; way--) {
        for (int turn = 0; turn < TURNS; turn++)
            ratios[turn] = times_ns[way][turn] / times_ns[0][turn];
        qsort(ratios, TURNS, sizeof(double), ascending);
        qsort(times_ns[way], TURNS, sizeof(double), ascending);
        printf("%-15s %-20s %7.1f ns, ratio %.3f (%.3f-%.3f)\n", name, ways[way].name, times_ns[way][TURNS / 2],
               ratios[TURNS / 2], ratios[TURNS / 2 - apart], ratios[TURNS / 2 + apart]);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Datatype gapped;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &gapped);
    MPI_Type_commit(&gapped);
    for (int i = 0; i < MOST_RANKS; i++) {
        ones[i] = 1;
        places_bytes[i] = (int)sizeof(double) * 2 * COUNT * i;
        types[i] = gapped;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int is_planned = cases[i].plans[0] != NULL;
        for (int which = 0; which < 2 && is_planned; which++)
            cases[i].plans[which]();
        measure(cases[i].name, cases[i].ways, is_planned ? 4 : 2, rank);
        if (is_planned)
            PMPI_Request_free(&direct_planned), MPI_Request_free(&through_planned);
    }
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
