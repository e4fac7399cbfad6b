/* Random multicasts to overlapping groups, all under way at once. Every rank knows its multicasts from the seed.
 *
 *     multicast_stress MULTICASTS MOST_BYTES SEED RULES MODE
 *
 * MODE: recv (one master), poll (two masters, one thread polls), listen (two masters, callbacks), threads (two masters,
 * one thread for each and one that sends).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hocket_mpi.h"

#define MOST_DOMAINS 2
#define SHIFTS 4096

static int rank, ranks, multicasts, most_bytes, domains_count;
static unsigned char *pool;

static unsigned next(unsigned long long *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(*state >> 33);
}

/* A script: the bytes and members of each multicast. */
typedef struct script {
    int master;
    int *bytes;
    unsigned char *members; /* multicasts x bitmap */
    hocket_mcast_domain *domain;
    int taken; /* the next multicast that this rank checks */
} script;

static script scripts[MOST_DOMAINS];
static size_t bitmap_bytes;

static void die(const char *what) {
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, hocket_mcast_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int code, const char *what) {
    if (code != MPI_SUCCESS)
        die(what);
}

static const unsigned char *content(int domain, int number) {
    return pool + (number * 977 + domain * 31) % SHIFTS;
}

static void make(script *of, int master, unsigned long long seed) {
    of->master = master;
    of->bytes = calloc((size_t)multicasts, sizeof *of->bytes);
    of->members = calloc((size_t)multicasts, bitmap_bytes);
    for (int number = 0; number < multicasts; number++) {
        unsigned kind = next(&seed) % 8;
        of->bytes[number] = kind == 0 ? 0 : kind == 1 ? 8191 + (int)(next(&seed) % 3)
                          : kind < 5 ? (int)(next(&seed) % 20000) : (int)(next(&seed) % (unsigned)(most_bytes + 1));
        unsigned of_eight = 1 + next(&seed) % 8;
        for (int member = 0; member < ranks; member++)
            if (next(&seed) % 8 < of_eight && number % 50 != 7)
                of->members[(size_t)number * bitmap_bytes + (size_t)member / 8] |= (unsigned char)(1 << member % 8);
    }
}

static int is_member(const script *of, int number) {
    return of->members[(size_t)number * bitmap_bytes + (size_t)rank / 8] >> rank % 8 & 1;
}

/* The next multicast for this rank, or -1. */
static int expected(script *of) {
    while (of->taken < multicasts && !is_member(of, of->taken))
        of->taken++;
    return of->taken < multicasts ? of->taken : -1;
}

static void verify(int domain, const void *data, size_t bytes) {
    script *of = &scripts[domain];
    int number = expected(of);
    if (number < 0 || bytes != (size_t)of->bytes[number] || memcmp(data, content(domain, number), bytes) != 0) {
        fprintf(stderr, "rank %d: wrong content: domain %d, expected number %d, got %zu B\n", rank, domain, number, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    of->taken++;
}

static void *masters_part(void *argument) {
    script *of = argument;
    int domain = (int)(of - scripts);
    if (of->master != rank)
        return NULL;
    uint64_t id = 0, first = 0;
    for (int number = 0; number < multicasts; number++) {
        check(hocket_mcast_send(of->domain, of->members + (size_t)number * bitmap_bytes, bitmap_bytes,
                                content(domain, number), of->bytes[number], MPI_BYTE, &id), "send");
        first = first ? first : id;
    }
    if (first)
        check(hocket_mcast_wait(of->domain, first, HOCKET_MCAST_LEFT), "wait");
    return NULL;
}

static void *receive_all(void *argument) {
    script *of = argument;
    unsigned char *buffer = malloc((size_t)most_bytes + 20000);
    while (expected(of) >= 0) {
        hocket_mcast_status status;
        check(hocket_mcast_recv(of->domain, buffer, most_bytes + 20000, MPI_BYTE, &status), "recv");
        verify((int)(of - scripts), buffer, status.bytes);
    }
    free(buffer);
    return NULL;
}

static void poll_all(void) {
    for (int left = domains_count; left > 0;) {
        left = 0;
        for (int domain = 0; domain < domains_count; domain++) {
            hocket_multicast multicast;
            int flag;
            if (expected(&scripts[domain]) < 0)
                continue;
            left++;
            check(hocket_mcast_poll(scripts[domain].domain, &multicast, &flag), "poll");
            if (flag) {
                verify(domain, multicast.data, multicast.bytes);
                check(hocket_mcast_release(scripts[domain].domain, multicast.id), "release");
            }
        }
    }
}

static void heard(hocket_mcast_domain *domain, const hocket_multicast *multicast, void *context) {
    (void)domain;
    verify((int)((script *)context - scripts), multicast->data, multicast->bytes);
}

int main(int argc, char **argv) {
    if (argc != 6)
        return 2;
    const char *mode = argv[5];
    int is_threaded = !strcmp(mode, "threads"), provided;
    MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (is_threaded && provided < MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    multicasts = atoi(argv[1]);
    most_bytes = atoi(argv[2]);
    bitmap_bytes = (size_t)(ranks + 7) / 8;
    domains_count = strcmp(mode, "recv") ? 2 : 1;
    size_t pool_bytes = (size_t)most_bytes + SHIFTS + 20000;
    pool = malloc(pool_bytes);
    unsigned long long state = 1;
    for (size_t i = 0; i < pool_bytes; i++)
        pool[i] = (unsigned char)next(&state);
    for (int domain = 0; domain < domains_count; domain++) {
        script *of = &scripts[domain];
        make(of, domain == 0 ? 0 : ranks - 1, strtoull(argv[3], NULL, 10) + (unsigned)domain);
        check(hocket_mcast_domain_create(MPI_COMM_WORLD, of->master, argv[4], &of->domain), "create");
    }
    double start = MPI_Wtime();
    if (is_threaded) {
        pthread_t threads[2 * MOST_DOMAINS];
        for (int domain = 0; domain < domains_count; domain++) {
            pthread_create(&threads[2 * domain], NULL, receive_all, &scripts[domain]);
            pthread_create(&threads[2 * domain + 1], NULL, masters_part, &scripts[domain]);
        }
        for (int i = 0; i < 2 * domains_count; i++)
            pthread_join(threads[i], NULL);
    } else {
        if (!strcmp(mode, "listen"))
            for (int domain = 0; domain < domains_count; domain++)
                check(hocket_mcast_listen(scripts[domain].domain, heard, &scripts[domain]), "listen");
        for (int domain = 0; domain < domains_count; domain++)
            masters_part(&scripts[domain]);
        if (!strcmp(mode, "listen"))
            for (int left = 1; left;) {
                check(hocket_mcast_progress(), "progress");
                left = expected(&scripts[0]) >= 0 || expected(&scripts[1]) >= 0;
            }
        else if (domains_count == 1)
            receive_all(&scripts[0]);
        else
            poll_all();
    }
    for (int domain = 0; domain < domains_count; domain++)
        check(hocket_mcast_domain_free(&scripts[domain].domain), "free");
    if (rank == 0)
        printf("ok %d multicasts %.3f s\n", domains_count * multicasts, MPI_Wtime() - start);
    MPI_Finalize();
    return 0;
}
