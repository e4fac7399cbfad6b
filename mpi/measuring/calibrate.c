/* Measures messages between rank 0 and each other rank, reductions and copies: a line of JSON per sample.
 *
 *     calibrate SECONDS MOST_BYTES
 *
 * Each round goes through all kinds and sizes, so that a temporary disturbance affects all of them alike. There are as
 * many rounds as fit the time, and at least MIN_ROUNDS. Ranks that do not take part sleep. A sample is
 *
 *     {"kind": KIND, "peer": RANK, "bytes": BYTES, "time_s": SECONDS}
 *
 *     one_way          a message to a waiting receiver, from the common start to the end of both
 *     exchange         both ranks send and receive at once, as in most collectives
 *     send             how long MPI_Isend occupies the processor, some time after the previous message: o of the sender
 *     receive          how long a receive of an arrived message occupies the processor: o of the receiver
 *     gap              time per message of a burst, until the last one is received: g + (n-1) G for n bytes
 *     reduce           MPI_Reduce_local, MPI_SUM of doubles
 *     copy             memcpy
 *     eager_limit      BYTES is the largest message that leaves without its receive; time_s is 0
 *
 * Method: T. Hoefler, A. Lichei, W. Rehm, "Low-overhead LogGP parameter assessment for modern interconnection
 * networks", IPDPS 2007.
 */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library.h"
#include "together.h"

enum { MIN_ROUNDS = 10, TAG = 1, CONTROL = 2, LOCAL_BYTES_LEAST = 8, LOCAL_BYTES_ONCE = 4096, MOST_OVERHEAD_BYTES = 1 << 16, WARMING_TRIPS = 100, LINE_BYTES = 64 };

static char *data, *room;
static int rank;

static double now_s(void)
{
    return MPI_Wtime();
}

static void tell(const char *kind, int peer, long bytes, double time_s)
{
    printf("{\"kind\":\"%s\",\"peer\":%d,\"bytes\":%ld,\"time_s\":%.4e}\n", kind, peer, bytes, time_s);
}

/* Tests like libhocket: MPI_Wait can take another time. */
static void finish(MPI_Request *request)
{
    int is_done = 0;
    while (!is_done)
        MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
}

static void send_to(int to, long bytes)
{
    MPI_Request request;
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request);
    finish(&request);
}

static void receive(int from, long bytes)
{
    MPI_Request request;
    MPI_Irecv(room, (int)bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request);
    finish(&request);
}

/* Writes the message, so that only the cache of this processor holds it. */
static void write_lines(long bytes)
{
    for (long i = 0; i < bytes; i += LINE_BYTES)
        ((volatile char *)data)[i]++;
}

/* Both ranks call each of these functions; rank 0 prints. */

/* Both ranks start `act` at a common time. Rank 0 returns the time until both are done, or -1 if a rank was late. */
static double together_s(int peer, void (*act)(int, long), long bytes)
{
    double start_s, ends[2];
    write_lines(bytes);
    if (rank == 0) {
        receive(peer, 0);
        start_s = common_s() + lead_s;
        MPI_Send(&start_s, 1, MPI_DOUBLE, peer, CONTROL, MPI_COMM_WORLD);
    } else {
        send_to(0, 0);
        MPI_Recv(&start_s, 1, MPI_DOUBLE, 0, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int is_late = wait_until(start_s);
    act(peer, bytes);
    ends[0] = is_late ? INFINITY : common_s();
    if (rank != 0) {
        MPI_Send(ends, 1, MPI_DOUBLE, 0, CONTROL, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Recv(ends + 1, 1, MPI_DOUBLE, peer, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double end_s = fmax(ends[0], ends[1]);
    lead_s *= isinf(end_s) ? 2 : 1;
    return isinf(end_s) ? -1 : end_s - start_s;
}

/* Prints the second of two samples: the first one warms up. */
static void tell_together(const char *kind, int peer, void (*act)(int, long), long bytes)
{
    together_s(peer, act, bytes);
    double time_s = together_s(peer, act, bytes);
    if (rank == 0 && time_s > 0)
        tell(kind, peer, bytes, time_s);
}

static void one_way(int peer, long bytes)
{
    if (rank == 0)
        send_to(peer, bytes);
    else
        receive(peer, bytes);
}

static void exchange(int peer, long bytes)
{
    MPI_Request requests[2];
    MPI_Isend(data, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(room, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int is_done = 0; !is_done;)
        MPI_Testall(2, requests, &is_done, MPI_STATUSES_IGNORE);
}

static double half_round_trip_s(int peer, long bytes)
{
    double start_s = now_s();
    if (rank == 0)
        send_to(peer, bytes);
    receive(peer, bytes);
    if (rank != 0)
        send_to(peer, bytes);
    return (now_s() - start_s) / 2;
}

/* The peer has posted its receive before the send starts. */
static void send_overhead(int peer, long bytes, double trip_s)
{
    if (rank == 0) {
        MPI_Request request;
        receive(peer, 0);
        wait_until(common_s() + trip_s);
        double start_s = now_s();
        MPI_Isend(data, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
        double end_s = now_s();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        receive(peer, 0);
        tell("send", peer, bytes, end_s - start_s);
    } else {
        send_to(0, 0);
        receive(0, bytes);
        send_to(0, 0);
    }
}

/* Rank 0 waits six trip times, so that the message has arrived before the receive starts. */
static void receive_overhead(int peer, long bytes, double trip_s)
{
    if (rank == 0) {
        send_to(peer, 0);
        wait_until(common_s() + 6 * trip_s);
        double start_s = now_s();
        receive(peer, bytes);
        tell("receive", peer, bytes, now_s() - start_s);
    } else {
        receive(0, 0);
        send_to(0, bytes);
    }
}

/* Returns 1 if a message leaves within `wait_s` without its receive; the peer posts the receive afterwards. */
static int is_eager(int peer, long bytes, double wait_s)
{
    int flag = 0;
    if (rank == 0) {
        MPI_Request request;
        MPI_Isend(data, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
        double end_s = now_s() + wait_s;
        while (!flag && now_s() < end_s)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Send(&flag, 1, MPI_INT, peer, CONTROL, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&flag, 1, MPI_INT, 0, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive(0, bytes);
    }
    return flag;
}

/* Prints the largest message, up to `most_bytes`, that leaves without its receive. */
static void eager_limit(int peer, long most_bytes, double wait_s)
{
    long low = 0, high = most_bytes + 1;
    while (high - low > 1) {
        long middle = low + (high - low) / 2;
        if (is_eager(peer, middle, wait_s))
            low = middle;
        else
            high = middle;
    }
    if (rank == 0)
        tell("eager_limit", peer, low, 0.0);
}

static double burst_s(int peer, long bytes, int messages)
{
    double start_s = now_s();
    if (rank == 0) {
        for (int i = 0; i < messages; i++)
            send_to(peer, bytes);
        receive(peer, 0);
    } else {
        for (int i = 0; i < messages; i++)
            receive(0, bytes);
        send_to(0, 0);
    }
    return now_s() - start_s;
}

static void gap(int peer, long bytes)
{
    int messages = bytes <= 65536 ? 16 : 4;
    double one_s = burst_s(peer, bytes, 1), many_s = burst_s(peer, bytes, messages);
    if (rank == 0 && many_s > one_s)
        tell("gap", peer, bytes, (many_s - one_s) / (messages - 1));
}

static void reduce_once(long bytes)
{
    MPI_Reduce_local(room, data, (int)(bytes / 8), MPI_DOUBLE, MPI_SUM);
}

static void copy_once(long bytes)
{
    memcpy(data, room, (size_t)bytes);
    __asm__ volatile("" ::"r"(data) : "memory");
}

/* Times `once` right after an exchange of the same bytes, so that caches hold the data as in a collective. */
static void local(const char *kind, void (*once)(long), int peer, long bytes)
{
    int times = bytes < LOCAL_BYTES_ONCE ? LOCAL_BYTES_ONCE / (int)bytes : 1;
    exchange(peer, bytes);
    if (rank != 0)
        return;
    double start_s = now_s();
    for (int i = 0; i < times; i++)
        once(bytes);
    tell(kind, peer, bytes, (now_s() - start_s) / times);
}

/* The size after `bytes`: 0, 1, 3, 5, 7, 10, 14, 20, 28, ... Powers of two above 1 are left for checks of the fit. */
static long next_size(long bytes)
{
    if (bytes < 5)
        return bytes ? bytes + 2 : 1;
    return bytes % 5 == 0 ? bytes / 5 * 7 : bytes / 7 * 10;
}

static void one_round(int peer, long most_bytes)
{
    double trip_s = 0;
    for (int i = 0; i < WARMING_TRIPS; i++)
        half_round_trip_s(peer, 0);
    compare_clock(rank, rank == 0 ? peer : rank);
    for (long bytes = 0; bytes <= most_bytes; bytes = next_size(bytes)) {
        trip_s = half_round_trip_s(peer, bytes);
        tell_together("one_way", peer, one_way, bytes);
        tell_together("exchange", peer, exchange, bytes);
        gap(peer, bytes);
        if (bytes <= MOST_OVERHEAD_BYTES) {
            send_overhead(peer, bytes, trip_s);
            receive_overhead(peer, bytes, trip_s);
        }
        if (bytes >= LOCAL_BYTES_LEAST) {
            local("reduce", reduce_once, peer, bytes);
            local("copy", copy_once, peer, bytes);
        }
    }
    eager_limit(peer, most_bytes, 3 * trip_s);
}

/* Receives a word from rank 0; sleeps meanwhile, so that other ranks get the processor. */
static int next_word(void)
{
    int word, flag = 0;
    while (!flag) {
        MPI_Iprobe(0, CONTROL, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    MPI_Recv(&word, 1, MPI_INT, 0, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return word;
}

int main(int argc, char **argv)
{
    int ranks, goes_on = 1;
    MPI_Init(&argc, &argv);
    check_ranks();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks < 2) {
        fprintf(stderr, "expected calibrate SECONDS MOST_BYTES on 2 or more ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double limit_s = atof(argv[1]), start_s = now_s();
    long most_bytes = atol(argv[2]);
    char host[MPI_MAX_PROCESSOR_NAME];
    int length;
    data = malloc((size_t)most_bytes + 8);
    room = malloc((size_t)most_bytes + 8);
    if (!data || !room) {
        fprintf(stderr, "calibrate: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    /* The kernel maps all unwritten memory to one page, which stays in the cache. */
    memset(data, 1, (size_t)most_bytes + 8);
    memset(room, 1, (size_t)most_bytes + 8);
    MPI_Get_processor_name(host, &length);
    if (rank != 0)
        MPI_Send(host, length + 1, MPI_CHAR, 0, CONTROL, MPI_COMM_WORLD);
    else
        for (int peer = 0; peer < ranks; peer++) {
            if (peer)
                MPI_Recv(host, sizeof host, MPI_CHAR, peer, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("{\"rank\":%d,\"host\":\"%s\"}\n", peer, host);
        }
    for (int round = 0; rank == 0 && goes_on; round++) {
        for (int peer = 1; peer < ranks; peer++) {
            MPI_Send(&goes_on, 1, MPI_INT, peer, CONTROL, MPI_COMM_WORLD);
            one_round(peer, most_bytes);
        }
        fflush(stdout);
        goes_on = round + 1 < MIN_ROUNDS || now_s() - start_s < limit_s;
    }
    if (rank == 0)
        for (int peer = 1; peer < ranks; peer++)
            MPI_Send(&goes_on, 1, MPI_INT, peer, CONTROL, MPI_COMM_WORLD);
    else
        while (next_word())
            one_round(0, most_bytes);
    free(data);
    free(room);
    MPI_Finalize();
    return 0;
}
