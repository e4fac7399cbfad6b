/* Records interruptions of a processor by fixed work quanta.
 *
 *     noise PROCESSOR SECONDS THRESHOLD_NS
 *
 * Bound to one processor, it repeats a short piece of work, the quantum, and reads the clock after each. A quantum was
 * interrupted if it took more than THRESHOLD_NS longer than the shortest one: {"start_s":S,"duration_s":D}. S counts
 * from the beginning, D is the excess. The last line is {"processor":P,"quantum_s":Q,"quanta":N,"length_s":L}.
 *
 * After M. J. Sottile, R. G. Minnich, "Analysis of microbenchmarks for performance tuning of clusters", CLUSTER 2004.
 * Quanta are short enough to show the length of an interruption, as in netgauge: T. Hoefler, T. Schneider, A.
 * Lumsdaine, "Characterizing the influence of system noise on large-scale applications by simulation", SC 2010.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_EVENTS = 1 << 21, PROBES = 100000, STEPS = 400 };

struct event {
    int64_t start_ns, time_ns;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Some hundred nanoseconds of dependent operations in registers. */
static inline uint64_t work(uint64_t x)
{
    for (int i = 0; i < STEPS; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

int main(int argc, char **argv)
{
    static struct event events[MOST_EVENTS];
    if (argc != 4) {
        fprintf(stderr, "expected noise PROCESSOR SECONDS THRESHOLD_NS\n");
        return 2;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof set, &set)) {
        fprintf(stderr, "processor %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    /* Touches all pages first: page faults would count as noise. */
    memset(events, 1, sizeof events);
    mlockall(MCL_CURRENT);
    int64_t length_ns = (int64_t)(atof(argv[2]) * 1e9), threshold_ns = atoll(argv[3]), shortest_ns = INT64_MAX, count = 0;
    volatile uint64_t result = 1;
    for (int i = 0; i < PROBES; i++) {
        int64_t before_ns = now_ns();
        result = work(result);
        int64_t time_ns = now_ns() - before_ns;
        shortest_ns = time_ns < shortest_ns ? time_ns : shortest_ns;
    }
    int64_t start_ns = now_ns(), last_ns = start_ns, quanta = 0;
    while (last_ns - start_ns < length_ns && count < MOST_EVENTS) {
        result = work(result);
        int64_t time = now_ns();
        if (time - last_ns > shortest_ns + threshold_ns)
            events[count++] = (struct event){last_ns - start_ns, time - last_ns};
        last_ns = time;
        quanta++;
    }
    for (int64_t i = 0; i < count; i++)
        printf("{\"start_s\":%.9f,\"duration_s\":%.9f}\n", (double)events[i].start_ns * 1e-9,
               (double)(events[i].time_ns - shortest_ns) * 1e-9);
    printf("{\"processor\":%s,\"quantum_s\":%.9f,\"quanta\":%lld,\"length_s\":%.9f}\n", argv[1], (double)shortest_ns * 1e-9,
           (long long)quanta, (double)(last_ns - start_ns) * 1e-9);
    return 0;
}
