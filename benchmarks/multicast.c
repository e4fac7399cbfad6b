/* Dynamic multicast against MPI_Comm_create_group + MPI_Bcast + MPI_Comm_free on the same ranks.
 *
 *     multicast REPEATS BYTES MEMBERS [RULES...]
 *
 * Groups are ranks N / MEMBERS * i of N, as the paper has them; rank 0 is the master and a member, and receives where it
 * sends from, as the root of MPI_Bcast does. The ways take turns, forwards and backwards, as each leaves the caches to the
 * next as it left them. A time begins when rank 0 begins and ends when the last member has the data, by the clock of the
 * node that all ranks are on. Prints, as CSV: ranks, members, bytes, way, then quartiles and median of the times in us, and
 * of the ratio of the first way's time to this one's, repeat by repeat. The first way is that of MPI; the second,
 * MPI_Bcast over a communicator that is there already. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hocket_mpi.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *values, int count, double share) {
    double *sorted = malloc((size_t)count * sizeof *sorted), found;
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    found = sorted[(int)(share * (count - 1) + 0.5)];
    free(sorted);
    return found;
}

static void check(int code, const char *what) {
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", what, hocket_mcast_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    MPI_Init(&argc, &argv);
    int rank, ranks, repeats = atoi(argv[1]), bytes = atoi(argv[2]), size = atoi(argv[3]), ways = argc - 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *list = malloc((size_t)size * sizeof *list), is_member = 0;
    unsigned char *members = calloc((size_t)ranks / 8 + 1, 1), *buffer = malloc((size_t)bytes + 1);
    for (int i = 0; i < size; i++) {
        list[i] = ranks / size * i;
        members[list[i] / 8] |= (unsigned char)(1 << list[i] % 8);
        is_member |= list[i] == rank;
    }
    memset(buffer, rank == 0 ? 7 : 0, (size_t)bytes);
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, size, list, &group);
    MPI_Comm fixed;
    MPI_Comm_create(MPI_COMM_WORLD, group, &fixed);
    hocket_mcast_domain **domains = calloc((size_t)ways, sizeof *domains);
    for (int way = 2; way < ways; way++)
        check(hocket_mcast_domain_create(MPI_COMM_WORLD, 0, argv[way + 2], &domains[way]), argv[way + 2]);
    double *times = malloc((size_t)(repeats * ways) * sizeof *times);
    for (int repeat = -2; repeat < repeats; repeat++)
        for (int turn = 0; turn < ways; turn++) {
            int way = repeat % 2 ? ways - 1 - turn : turn;
            if (rank != 0)
                memset(buffer, 0, (size_t)bytes);
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = now(), end = 0, last = 0;
            if (is_member && way == 0) {
                MPI_Comm comm;
                MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
                MPI_Bcast(buffer, bytes, MPI_BYTE, 0, comm);
                MPI_Comm_free(&comm);
                end = now();
            } else if (is_member && way == 1) {
                MPI_Bcast(buffer, bytes, MPI_BYTE, 0, fixed);
                end = now();
            } else if (is_member) {
                uint64_t id = 0;
                if (rank == 0)
                    check(hocket_mcast_send(domains[way], members, (size_t)(ranks + 7) / 8, buffer, bytes, MPI_BYTE, &id),
                          "send");
                check(hocket_mcast_recv(domains[way], buffer, bytes, MPI_BYTE, NULL), "recv");
                end = now();
                /* Whoever has to acknowledge or forward goes on until the master knows. */
                if (rank == 0)
                    check(hocket_mcast_wait(domains[way], id, HOCKET_MCAST_COMPLETE), "wait");
            }
            if (is_member && bytes > 0 && (buffer[0] != 7 || buffer[bytes - 1] != 7))
                MPI_Abort(MPI_COMM_WORLD, 1);
            MPI_Request request;
            MPI_Ireduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD, &request);
            for (int done = 0; !done;) {
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                hocket_mcast_progress();
                sched_yield();
            }
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            for (int done = 0; !done;) {
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                hocket_mcast_progress();
                sched_yield();
            }
            if (rank == 0 && repeat >= 0)
                times[way * repeats + repeat] = last - begin;
        }
    if (rank == 0)
        for (int way = 0; way < ways; way++) {
            double *own = times + way * repeats, *ratios = malloc((size_t)repeats * sizeof *ratios);
            for (int i = 0; i < repeats; i++)
                ratios[i] = times[i] / own[i];
            printf("%d,%d,%d,\"%s\",%.1f,%.1f,%.1f,%.2f,%.2f,%.2f\n", ranks, size, bytes,
                   way == 0 ? "create_group + bcast + free" : way == 1 ? "bcast" : argv[way + 2],
                   1e6 * quantile(own, repeats, 0.25), 1e6 * quantile(own, repeats, 0.5),
                   1e6 * quantile(own, repeats, 0.75), quantile(ratios, repeats, 0.25), quantile(ratios, repeats, 0.5),
                   quantile(ratios, repeats, 0.75));
        }
    for (int way = 2; way < ways; way++)
        check(hocket_mcast_domain_free(&domains[way]), "free");
    MPI_Finalize();
    return 0;
}
