/* One start of a persistent collective against one nonblocking call, Hocket's and the MPI's own, in turns in one program.
 *
 *     mpicc -O2 benchmarks/persistent.c -o persistent
 *     hocket mpi run -n 2 --rule 'iallreduce: recursive_doubling' --rule 'iallgather: ring' \
 *         --rule 'ialltoallv: pairwise_exchange' -- ./persistent ROUNDS
 *
 * In each round every way makes BATCH calls, each waited for at once, forwards and backwards in turn. Prints, for each case and way,
 * the median of rank 0's time per call in us, and the median and quartiles of the ratio of the first way's time to this one's, round
 * by round. The first way is Hocket's nonblocking form. Calls of PMPI_ pass by the preloaded library.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 500, WAYS = 4, CASES = 3, COUNT = 8, MOST_RANKS = 64 };
static const char *const ways[WAYS] = {"nonblocking", "persistent", "MPI's nonblocking", "MPI's persistent"};
static const char *const cases[CASES] = {"allreduce, 1 double", "allgatherv, 8 doubles in every other place",
                                         "alltoallw, 8 doubles, types with gaps"};

static double send[MOST_RANKS * COUNT * 2], receive[MOST_RANKS * COUNT * 2];
static int ranks, counts[MOST_RANKS], places[MOST_RANKS], ones[MOST_RANKS], bytes[MOST_RANKS];
static MPI_Datatype gapped, types[MOST_RANKS];

/* The call of a case by this way's functions: `name` with what follows its other arguments. */
#define BY_CASE(which, allreduce, allgatherv, alltoallw, ...)                                                          \
    switch (which) {                                                                                                   \
    case 0: allreduce(send, receive, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, __VA_ARGS__); break;                      \
    case 1:                                                                                                            \
        allgatherv(send, COUNT, MPI_DOUBLE, receive, counts, places, MPI_DOUBLE, MPI_COMM_WORLD, __VA_ARGS__);         \
        break;                                                                                                         \
    default: alltoallw(send, ones, bytes, types, receive, ones, bytes, types, MPI_COMM_WORLD, __VA_ARGS__);            \
    }

static void run(int which, int way, MPI_Request planned[2])
{
    MPI_Request request;
    for (int i = 0; i < BATCH; i++)
        switch (way) {
        case 0:
            BY_CASE(which, MPI_Iallreduce, MPI_Iallgatherv, MPI_Ialltoallw, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 1:
            MPI_Start(&planned[0]);
            MPI_Wait(&planned[0], MPI_STATUS_IGNORE);
            break;
        case 2:
            BY_CASE(which, PMPI_Iallreduce, PMPI_Iallgatherv, PMPI_Ialltoallw, &request);
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        default:
            PMPI_Start(&planned[1]);
            PMPI_Wait(&planned[1], MPI_STATUS_IGNORE);
        }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *values, int count, double share)
{
    double *sorted = malloc((size_t)count * sizeof *sorted), found;
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    found = sorted[(int)(share * (count - 1) + 0.5)];
    free(sorted);
    return found;
}

static void measure(int which, int rounds)
{
    double *times = malloc(WAYS * (size_t)rounds * sizeof *times), *ratios = malloc((size_t)rounds * sizeof *ratios);
    MPI_Request planned[2];
    BY_CASE(which, MPI_Allreduce_init, MPI_Allgatherv_init, MPI_Alltoallw_init, MPI_INFO_NULL, &planned[0]);
    BY_CASE(which, PMPI_Allreduce_init, PMPI_Allgatherv_init, PMPI_Alltoallw_init, MPI_INFO_NULL, &planned[1]);
    for (int round = -1; round < rounds; round++) /* the first one warms up */
        for (int i = 0; i < WAYS; i++) {
            int way = round % 2 ? WAYS - 1 - i : i;
            PMPI_Barrier(MPI_COMM_WORLD);
            double begin_s = PMPI_Wtime();
            run(which, way, planned);
            if (round >= 0)
                times[way * rounds + round] = 1e6 * (PMPI_Wtime() - begin_s) / BATCH;
        }
    for (int way = 0; way < WAYS; way++) {
        for (int round = 0; round < rounds; round++)
            ratios[round] = times[round] / times[way * rounds + round];
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0)
            printf("%-44s %-18s %8.3f us  %5.2f (%.2f to %.2f)\n", cases[which], ways[way],
                   quantile(times + way * rounds, rounds, 0.5), quantile(ratios, rounds, 0.5),
                   quantile(ratios, rounds, 0.25), quantile(ratios, rounds, 0.75));
    }
    MPI_Request_free(&planned[0]);
    PMPI_Request_free(&planned[1]);
    free(times);
    free(ratios);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &gapped);
    MPI_Type_commit(&gapped);
    for (int i = 0; i < ranks && i < MOST_RANKS; i++) {
        counts[i] = COUNT;
        places[i] = 2 * COUNT * i;
        ones[i] = 1;
        bytes[i] = 8 * places[i];
        types[i] = gapped;
    }
    for (int which = 0; which < CASES; which++)
        measure(which, argc > 1 ? atoi(argv[1]) : 101);
    MPI_Type_free(&gapped);
    MPI_Finalize();
    return 0;
}
