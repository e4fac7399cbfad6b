/* Collectives beside other MPI calls. Prints "mixed: right" if all results are right.
 *
 * - Receives of any tag from any rank are pending during collectives: they must not get messages of collectives.
 * - A rank starts a collective and waits in another function, while other ranks wait for the rank.
 * - With an argument: operators, types and communicators are freed during a collective that needs them. The collectives
 *   of Open MPI 5.0 do not survive this.
 * - The root of a broadcast cannot write its memory.
 * - Two threads use one communicator each; one thread starts a call that other ranks wait for.
 * - Collectives of an intercommunicator.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_RANKS = 16 };

static int rank, ranks, failures;

static void expect(int is_right, const char *what)
{
    if (!is_right) {
        failures++;
        printf("rank %d of %d: wrong: %s\n", rank, ranks, what);
    }
}

static void pending_receives(void)
{
    int from_left = -1, sum = 0, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Request request;
    MPI_Irecv(&from_left, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, right, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == ranks * (ranks - 1) / 2, "sum while a receive is pending");
    expect(from_left == left, "pending receive");
}

static void started(void)
{
    int sums[3] = {0}, token = rank, others = 0, ones = 1;
    MPI_Request requests[4];
    MPI_Status statuses[3];
    /* rank 0 receives before it waits; the last rank waits before it sends */
    MPI_Iallreduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    if (ranks > 1 && rank == 0)
        MPI_Recv(&token, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (ranks > 1 && rank == ranks - 1)
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    expect(sums[0] == ranks * (ranks - 1) / 2, "a started sum");
    expect(rank != 0 || token == ranks - 1, "received meanwhile");
    /* the same with a barrier of another communicator, and with blocks of different sizes */
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    int numbers[MOST_RANKS], counts[MOST_RANKS], places[MOST_RANKS];
    for (int i = 0; i < ranks; i++)
        counts[i] = 1, places[i] = i;
    for (int has_blocks = 0; has_blocks < 2; has_blocks++) {
        MPI_Iallreduce(&ones, &others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        if (rank % 2)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (has_blocks)
            MPI_Allgatherv(&rank, 1, MPI_INT, numbers, counts, places, MPI_INT, other);
        else
            MPI_Barrier(other);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        expect(others == ranks, "a started sum and a barrier or blocks");
    }
    expect(numbers[ranks - 1] == ranks - 1, "blocks while a sum is under way");
    MPI_Comm_free(&other);
    /* several at once, completed in any order, with a receive among them */
    int got = -1, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Irecv(&got, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[3]);
    for (int i = 0; i < 3; i++)
        MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    MPI_Send(&rank, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    int index, flag = 0;
    MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
    (void)statuses;
    for (int i = 0; i < 3; i++)
        expect(sums[i] == ranks * (ranks - 1) / 2, "several started sums");
    expect(got == left, "a receive among them");
}

enum { WAYS = 8 };

/* Receives an int from a rank, by one of the functions that wait. */
static int received(int way, int from)
{
    int value = -1, index, count = 0, flag = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status = {.MPI_SOURCE = from};
    if (way == 0) {
        MPI_Probe(from, 5, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &status);
    } else if (way == 1) {
        MPI_Mprobe(from, 5, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    } else if (way == 2) {
        status.MPI_SOURCE = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, from, 6, &value, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &status);
    } else if (way == 6) {
        while (!flag)
            MPI_Improbe(from, 5, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    } else if (way == 7) {
        value = 77;
        status.MPI_SOURCE = -1;
        MPI_Sendrecv_replace(&value, 1, MPI_INT, from, 6, from, 5, MPI_COMM_WORLD, &status);
    } else {
        MPI_Irecv(&value, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &request);
        if (way == 3)
            MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
        while (way == 4 && count == 0)
            MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
        while (way == 5 && !flag)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    expect(status.MPI_SOURCE == from, "where a message is from");
    return value;
}

/* Rank 0 starts a sum, then waits for a message that the last rank sends after the sum. */
static void waited_for(void)
{
    int last = ranks - 1, sum, value;
    for (int way = 0; way < WAYS && ranks > 1; way++) {
        MPI_Request request;
        if (rank > 0)
            usleep(10000);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (rank == 0)
            expect(received(way, last) == way, "received while a sum is under way");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == last)
            MPI_Send(&way, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        if (rank == last && (way == 2 || way == 7)) {
            MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect(value == (way == 2 ? 0 : 77), "what was sent while a sum was under way");
        }
        expect(sum == ranks * last / 2, "a sum that is waited for");
    }
}

static void larger(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((int *)in)[2 * i] > ((int *)inout)[2 * i])
            ((int *)inout)[2 * i] = ((int *)in)[2 * i];
}

static void nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* MPI reuses the handle of a freed object at once. */
static void freed_early(void)
{
    MPI_Op op, other_op;
    MPI_Datatype spaced, resized, other_type;
    MPI_Comm comm;
    MPI_Request request;
    int own[200], most[200];
    for (int i = 0; i < 200; i++)
        own[i] = rank * 1000 + i, most[i] = -1;
    MPI_Op_create(larger, 1, &op);
    MPI_Type_contiguous(1, MPI_INT, &spaced);
    MPI_Type_create_resized(spaced, 0, 2 * sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Iallreduce(own, most, 100, resized, op, comm, &request);
    MPI_Type_free(&resized);
    MPI_Type_free(&spaced);
    MPI_Op_free(&op);
    MPI_Op_create(nothing, 1, &other_op);
    MPI_Type_contiguous(3, MPI_CHAR, &other_type);
    MPI_Type_commit(&other_type);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Op_free(&other_op);
    MPI_Type_free(&other_type);
    for (int i = 0; i < 100; i++)
        expect(most[2 * i] == (ranks - 1) * 1000 + 2 * i && most[2 * i + 1] == -1, "freed early");
}

/* Broadcasts a type with gaps from memory that the root cannot write. */
static void broadcast_from_constants(void)
{
    MPI_Datatype spaced;
    int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Type_vector(2, 1, 2, MPI_INT, &spaced);
    MPI_Type_commit(&spaced);
    page[0] = page[1] = page[2] = rank + 1;
    if (rank == 0)
        mprotect(page, 4096, PROT_READ);
    MPI_Bcast(page, 1, spaced, 0, MPI_COMM_WORLD);
    expect(page[0] == 1 && page[1] == rank + 1 && page[2] == 1, "broadcast from constants");
    MPI_Type_free(&spaced);
    munmap(page, 4096);
}

static void made_with_large_counts(void)
{
#if MPI_VERSION >= 4
    MPI_Datatype pairs;
    MPI_Request request;
    int pair[2] = {rank, -rank};
    MPI_Type_contiguous_c(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Bcast(pair, 1, pairs, ranks - 1, MPI_COMM_WORLD);
    expect(pair[0] == ranks - 1 && pair[1] == 1 - ranks, "a type made with large counts");
    pair[0] = rank;
    MPI_Ibcast(pair, 1, pairs, 0, MPI_COMM_WORLD, &request);
    MPI_Type_free(&pairs);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(pair[0] == 0, "such a type, freed early");
#endif
}

static void *thread(void *comm)
{
    static _Thread_local int sum, all;
    for (int i = 0; i < 50; i++) {
        int value = rank + i;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm);
        MPI_Request request;
        MPI_Iallreduce(&value, &all, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(sum == ranks * (ranks - 1) / 2 + i * ranks && all == sum, "sum of a thread");
    }
    return NULL;
}

static MPI_Request of_second;

static void *start_later(void *comm)
{
    static int one = 1, sum;
    usleep(rank == 0 ? 50000 : 100000);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm, &of_second);
    return NULL;
}

/* A second thread of rank 0 starts a call that the other ranks wait for, while the first thread is in the next call. */
static void started_by_another_thread(MPI_Comm comms[2])
{
    pthread_t second;
    int sum, one = 1, is_first = rank == 0;
    if (is_first)
        pthread_create(&second, NULL, start_later, &comms[1]);
    else {
        start_later(&comms[1]);
        MPI_Wait(&of_second, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[0]);
    if (is_first) {
        pthread_join(second, NULL);
        MPI_Wait(&of_second, MPI_STATUS_IGNORE);
    }
    expect(sum == ranks, "a sum while another thread starts one");
}

static void threads(int provided)
{
    if (provided < MPI_THREAD_MULTIPLE)
        return;
    pthread_t second;
    MPI_Comm comms[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    pthread_create(&second, NULL, thread, &comms[1]);
    thread(&comms[0]);
    pthread_join(second, NULL);
    started_by_another_thread(comms);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

static void between_groups(void)
{
    if (ranks < 2)
        return;
    MPI_Comm half, both;
    int is_low = rank < ranks / 2, sum = 0, one = 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? ranks / 2 : 0, 3, &both);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both);
    expect(sum == (is_low ? ranks - ranks / 2 : ranks / 2), "sum of the other group");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    int provided, all;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pending_receives();
    started();
    waited_for();
    broadcast_from_constants();
    made_with_large_counts();
    if (argc > 1)
        freed_early();
    threads(provided);
    between_groups();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0)
        printf("mixed: right\n");
    MPI_Finalize();
    return all != 0;
}
