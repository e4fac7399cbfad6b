/* A collective of an MPI over sizes, printed as by OSU's micro-benchmarks: COLLECTIVE SECONDS MOST FACTOR. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *name, const char *other) { return !strcmp(name, other); }

static void call(const char *what, char *from, char *to, int bytes, int ranks) {
    MPI_Comm all = MPI_COMM_WORLD;
    int floats = bytes / (int)sizeof(float);
    if (is(what, "allreduce")) MPI_Allreduce(from, to, floats, MPI_FLOAT, MPI_SUM, all);
    else if (is(what, "reduce")) MPI_Reduce(from, to, floats, MPI_FLOAT, MPI_SUM, 0, all);
    else if (is(what, "reduce_scatter")) MPI_Reduce_scatter_block(from, to, floats / ranks, MPI_FLOAT, MPI_SUM, all);
    else if (is(what, "broadcast")) MPI_Bcast(from, bytes, MPI_CHAR, 0, all);
    else if (is(what, "allgather")) MPI_Allgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, all);
    else if (is(what, "alltoall")) MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, all);
    else if (is(what, "gather")) MPI_Gather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, 0, all);
    else MPI_Scatter(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, 0, all);
}

/* Mean time of a call on this rank, in microseconds: calls after a barrier, until the seconds are over. */
static double mean_us(const char *what, char *from, char *to, int bytes, int ranks, double seconds, int *calls) {
    double sum = 0, begin = 0;
    int more = 1;
    *calls = 0;
    for (int i = -5; more; i++) {
        if (i == 0) begin = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        call(what, from, to, bytes, ranks);
        if (i >= 0) sum += MPI_Wtime() - start, ++*calls;
        MPI_Barrier(MPI_COMM_WORLD);
        if (i >= 0 && i % 10 == 9) {
            more = *calls < 2000 && MPI_Wtime() - begin < seconds;
            MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    return sum / *calls * 1e6;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    if (count != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    const char *what = words[1];
    int rank, ranks, most = atoi(words[3]), factor = atoi(words[4]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int has_blocks = is(what, "allgather") || is(what, "alltoall") || is(what, "gather") || is(what, "scatter");
    if (has_blocks && most > (16 << 20) / ranks) most = (16 << 20) / ranks;
    size_t room = (size_t)most * (has_blocks ? ranks : 1) + 64;
    char *from = calloc(room, 1), *to = calloc(room, 1);
    if (!from || !to) MPI_Abort(MPI_COMM_WORLD, 1);
    if (!rank) printf("# OSU MPI %s Latency Test v7.5\n# Size       Avg Latency(us)\n", what);
    for (int bytes = 8; bytes <= most; bytes *= factor) {
        int calls;
        double own_us = mean_us(what, from, to, bytes, ranks, atof(words[2]), &calls), all_us;
        MPI_Reduce(&own_us, &all_us, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (!rank) printf("%-10d%18.2f\n", bytes, all_us / ranks);
    }
    free(from);
    free(to);
    MPI_Finalize();
}
