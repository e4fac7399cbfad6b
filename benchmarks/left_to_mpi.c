/* What a short call costs that rules leave to MPI by its size: through the preloaded library, and directly by its PMPI name, in turns.
 *
 *     mpicc -O2 left_to_mpi.c -o left_to_mpi
 *     hocket mpi run -n 2 --rule 'allreduce[size=64KiB..]: ring' --rule 'broadcast[size=64KiB..]: binomial' ... -- ./left_to_mpi
 *
 * Prints, of calls of 8 bytes, the median time in ns of both, and the median of their ratio over the turns with its 95 % interval. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 301, CALLS = 1000 };

#define ARGUMENTS_allreduce (in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
#define ARGUMENTS_broadcast (in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD)
#define ARGUMENTS_blocks (in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD)
#define ARGUMENTS_barrier (MPI_COMM_WORLD)

#define BOTH(name, function, arguments)                                                                                \
    static void through_##name(double *in, double *out)                                                                \
    {                                                                                                                  \
        (void)in, (void)out;                                                                                           \
        MPI_##function ARGUMENTS_##arguments;                                                                          \
    }                                                                                                                  \
    static void direct_##name(double *in, double *out)                                                                 \
    {                                                                                                                  \
        (void)in, (void)out;                                                                                           \
        PMPI_##function ARGUMENTS_##arguments;                                                                         \
    }
BOTH(allreduce, Allreduce, allreduce)
BOTH(broadcast, Bcast, broadcast)
BOTH(allgather, Allgather, blocks)
BOTH(alltoall, Alltoall, blocks)
BOTH(reduce_scatter, Reduce_scatter_block, allreduce)
BOTH(barrier, Barrier, barrier)

#define NAMED(name) {#name, {direct_##name, through_##name}}
static const struct {
    const char *name;
    void (*ways[2])(double *, double *);
} cases[] = {NAMED(allreduce), NAMED(broadcast), NAMED(allgather), NAMED(alltoall), NAMED(reduce_scatter), NAMED(barrier)};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double in[64], out[64], times_ns[2][TURNS], ratios[TURNS];
    int rank, apart = (int)ceil(0.98 * sqrt(TURNS)); /* of order statistics, for 95 % */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int turn = 0; turn < TURNS; turn++) {
            for (int i = 0; i < 2; i++) {
                int way = (turn + i) % 2;
                PMPI_Barrier(MPI_COMM_WORLD);
                double begin_s = MPI_Wtime();
                for (int call = 0; call < CALLS; call++)
                    cases[c].ways[way](in, out);
                times_ns[way][turn] = 1e9 * (MPI_Wtime() - begin_s) / CALLS;
            }
            ratios[turn] = times_ns[1][turn] / times_ns[0][turn];
        }
        qsort(times_ns[0], TURNS, sizeof(double), ascending);
        qsort(times_ns[1], TURNS, sizeof(double), ascending);
        qsort(ratios, TURNS, sizeof(double), ascending);
        if (rank == 0)
            printf("%-15s direct %6.1f ns, through the library %6.1f ns, ratio %.3f (%.3f-%.3f)\n", cases[c].name,
                   times_ns[0][TURNS / 2], times_ns[1][TURNS / 2], ratios[TURNS / 2], ratios[TURNS / 2 - apart],
                   ratios[TURNS / 2 + apart]);
    }
    MPI_Finalize();
    return 0;
}
