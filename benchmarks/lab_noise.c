/* Allreduces that begin at times named before, and when the result of each rank was complete.
 *
 *     lab_noise TRIALS INTERVAL_S BYTES
 *
 * All ranks are on one host, whose clock tells the times: rank 0 prints {"pids":[..],"start_s":S}, and trial i begins at
 * S + i * INTERVAL_S. At the end it prints {"complete_s":[[..],..]}, per trial and rank how long after its beginning the result was
 * complete. It runs with Hocket's library preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const double LEAD_S = 1.0;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void wait_until(double time_s)
{
    struct timespec time = {.tv_sec = (time_t)time_s, .tv_nsec = (long)((time_s - (double)(time_t)time_s) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
        continue;
}

static void print_list(const char *before, const char *format, const double *values, int count, const char *after)
{
    printf("%s[", before);
    for (int i = 0; i < count; i++) {
        printf("%s", i ? "," : "");
        printf(format, values[i]);
    }
    printf("]%s", after);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double (*last_complete_for_s)(void) = (double (*)(void))dlsym(RTLD_DEFAULT, "hocket_last_complete_for_s");
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || !last_complete_for_s) {
        if (rank == 0)
            fprintf(stderr, "expected lab_noise TRIALS INTERVAL_S BYTES, and Hocket's library preloaded\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int trials = atoi(argv[1]), count = atoi(argv[3]) / (int)sizeof(double);
    double interval_s = atof(argv[2]), *input = malloc(((size_t)count + 1) * sizeof *input);
    double *result = malloc(((size_t)count + 1) * sizeof *result), *all = malloc((size_t)ranks * sizeof *all);
    double *complete_s = malloc((size_t)trials * sizeof *complete_s);
    double *table = malloc((size_t)trials * (size_t)ranks * sizeof *table), pid = getpid(), start_s = 0;
    for (int i = 0; i < count; i++)
        input[i] = rank + i;
    for (int warm_up = 0; warm_up < 3; warm_up++)
        MPI_Allreduce(input, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(&pid, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        start_s = now_s() + LEAD_S;
        print_list("{\"pids\":", "%.0f", all, ranks, "");
        printf(",\"start_s\":%.6f}\n", start_s);
        fflush(stdout);
    }
    MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < trials; i++) {
        double begin_s = start_s + i * interval_s;
        wait_until(begin_s);
        MPI_Allreduce(input, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        complete_s[i] = now_s() - last_complete_for_s() - begin_s;
        for (int place = 0; place < count; place++)
            if (result[place] != ranks * (ranks - 1) / 2 + (double)ranks * place)
                MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Gather(complete_s, trials, MPI_DOUBLE, table, trials, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < trials; i++) {
        for (int from = 0; from < ranks; from++)
            all[from] = table[from * trials + i];
        print_list(i ? "," : "{\"complete_s\":[", "%.6f", all, ranks, i + 1 < trials ? "" : "]}\n");
    }
    MPI_Finalize();
    return 0;
}
