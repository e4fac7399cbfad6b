/* Threads that run collectives of all forms at the same time, on communicators that they make and free. Everything
 * follows from a seed, but for the order in which threads run. Prints "soak: right".
 *
 *     soak SEED THREADS EPOCHS [alike]
 *
 * Each thread has its own communicator, and makes others from it in ten ways. In each epoch it starts blocking,
 * nonblocking and persistent collectives, in the same order on all ranks. It frees some communicators while calls on
 * them are under way, which Open MPI's own calls do not survive. Each rank waits for the calls in its own order, in
 * one of six ways, and checks every element. Then it starts some persistent calls again, in its own order.
 *
 * alike: for MPI's own calls. Ranks start persistent calls in the same order, and wait as MPICH can.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#endif
#ifdef OPEN_MPI
enum { FREES_EARLY = 0, HAS_IDUP = 0 };
#else
enum { FREES_EARLY = 1, HAS_IDUP = 1 };
#endif

enum { MOST_RANKS = 8, MOST_COUNT = 40, MOST_THREADS = 8, MOST_CALLS = 16, COMMS = 6, RESTARTS = 2 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { BARRIER, BCAST, ALLREDUCE, REDUCE, SCAN, EXSCAN, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, GATHER, GATHERV,
       SCATTER, BLOCK, REDUCE_SCATTER, NEIGHBORS, KINDS };
enum { DUP, DUP_WITH_INFO, SPLIT, SPLIT_TYPE, CREATE, CREATE_GROUP, CART, GRAPH, RING, IDUP, WAYS = IDUP + HAS_IDUP };

struct call {
    MPI_Request request;
    int kind, form, rank, ranks, count, root, salt;
    int counts[MOST_RANKS], places[MOST_RANKS];
    int send[MOST_RANKS * MOST_COUNT], receive[MOST_RANKS * MOST_COUNT];
};

struct thread {
    pthread_t id;
    /* Of the numbers that all ranks share, and of those of this rank. */
    unsigned shared, own;
    /* The first one is the thread's own, from which the others are made. */
    MPI_Comm comms[COMMS];
    int is_ring[COMMS], is_used[COMMS];
    struct call calls[MOST_CALLS];
};

static int rank, ranks, epochs, is_alike, failures;
static struct thread threads[MOST_THREADS];

static unsigned draw(unsigned *state, unsigned limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

static int value(const struct call *call, int from, int index)
{
    return call->salt + 100 * from + index;
}

static int sum(const struct call *call, int froms, int index)
{
    int sum = 0;
    for (int from = 0; from < froms; from++)
        sum += value(call, from, index);
    return sum;
}

/* The expected element, or -1 if there is none. */
static int expected(const struct call *call, int index)
{
    int count = call->count, block = count ? index / count : 0, within = count ? index % count : 0;
    int is_first = index < count, is_block = count && block < call->ranks, is_root = call->rank == call->root;
    int before = (call->rank + call->ranks - 1) % call->ranks;
    switch (call->kind) {
    case BCAST: return is_first ? value(call, call->root, index) : -1;
    case ALLREDUCE: return is_first ? sum(call, call->ranks, index) : -1;
    case REDUCE: return is_first && is_root ? sum(call, call->ranks, index) : -1;
    case SCAN: return is_first ? sum(call, call->rank + 1, index) : -1;
    case EXSCAN: return is_first && call->rank ? sum(call, call->rank, index) : -1;
    case ALLGATHER: case ALLGATHERV: return is_block ? value(call, block, within) : -1;
    case ALLTOALL: case ALLTOALLV: return is_block ? value(call, block, call->rank * count + within) : -1;
    case GATHER: case GATHERV: return is_block && is_root ? value(call, block, within) : -1;
    case SCATTER: return is_first ? value(call, call->root, call->rank * count + index) : -1;
    case BLOCK: case REDUCE_SCATTER: return is_first ? sum(call, call->ranks, call->rank * count + index) : -1;
    case NEIGHBORS: return is_first ? value(call, before, index) : -1;
    default: return -1;
    }
}

static void fill(struct call *call, int salt)
{
    call->salt = salt;
    for (int i = 0; i < MOST_RANKS * MOST_COUNT; i++)
        call->send[i] = value(call, call->rank, i), call->receive[i] = -1;
    if (call->kind == BCAST && call->rank == call->root)
        for (int i = 0; i < call->count; i++)
            call->receive[i] = call->send[i];
}

static void check(const struct call *call)
{
    for (int i = 0; i < MOST_RANKS * MOST_COUNT; i++)
        if (call->receive[i] != expected(call, i)) {
            if (__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED) < 3)
                printf("rank %d: wrong: kind %d, form %d, %d ranks, element %d of %d: %d instead of %d\n", rank, call->kind,
                       call->form, call->ranks, i, call->count, call->receive[i], expected(call, i));
            return;
        }
}

#ifdef HAS_PERSISTENT
#define PLAN(name, ...) MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request), MPI_Start(request)
#define PLAN_BARRIER() MPI_Barrier_init(comm, MPI_INFO_NULL, request), MPI_Start(request)
#else
#define PLAN(name, ...) (void)0
#define PLAN_BARRIER() (void)0
#endif
#define RUN(name, nonblocking, ...)                                                                                    \
    (form == BLOCKING ? (void)MPI_##name(__VA_ARGS__, comm)                                                            \
     : form == NONBLOCKING ? (void)MPI_I##nonblocking(__VA_ARGS__, comm, request)                                      \
                           : (void)(PLAN(name, __VA_ARGS__)))

/* Starts a call whose kind, form, count and root are set. */
static void start(struct call *call, MPI_Comm comm, int salt)
{
    int *send = call->send, *receive = call->receive, *counts = call->counts, *places = call->places;
    int count = call->count, form = call->form;
    MPI_Request *request = &call->request;
    MPI_Datatype type = MPI_INT;
    MPI_Comm_rank(comm, &call->rank);
    MPI_Comm_size(comm, &call->ranks);
    int root = call->root %= call->ranks;
    fill(call, salt);
    for (int i = 0; i < call->ranks; i++)
        counts[i] = count, places[i] = i * count;
    switch (call->kind) {
    case BARRIER:
        if (form == BLOCKING)
            MPI_Barrier(comm);
        else if (form == NONBLOCKING)
            MPI_Ibarrier(comm, request);
        else
            PLAN_BARRIER();
        break;
    case BCAST: RUN(Bcast, bcast, receive, count, type, root); break;
    case ALLREDUCE: RUN(Allreduce, allreduce, send, receive, count, type, MPI_SUM); break;
    case REDUCE: RUN(Reduce, reduce, send, receive, count, type, MPI_SUM, root); break;
    case SCAN: RUN(Scan, scan, send, receive, count, type, MPI_SUM); break;
    case EXSCAN: RUN(Exscan, exscan, send, receive, count, type, MPI_SUM); break;
    case ALLGATHER: RUN(Allgather, allgather, send, count, type, receive, count, type); break;
    case ALLGATHERV: RUN(Allgatherv, allgatherv, send, count, type, receive, counts, places, type); break;
    case ALLTOALL: RUN(Alltoall, alltoall, send, count, type, receive, count, type); break;
    case ALLTOALLV: RUN(Alltoallv, alltoallv, send, counts, places, type, receive, counts, places, type); break;
    case GATHER: RUN(Gather, gather, send, count, type, receive, count, type, root); break;
    case GATHERV: RUN(Gatherv, gatherv, send, count, type, receive, counts, places, type, root); break;
    case SCATTER: RUN(Scatter, scatter, send, count, type, receive, count, type, root); break;
    case BLOCK: RUN(Reduce_scatter_block, reduce_scatter_block, send, receive, count, type, MPI_SUM); break;
    case REDUCE_SCATTER: RUN(Reduce_scatter, reduce_scatter, send, receive, counts, type, MPI_SUM); break;
    case NEIGHBORS: RUN(Neighbor_allgather, neighbor_allgather, send, count, type, receive, count, type); break;
    }
}

static MPI_Comm made(MPI_Comm base, int way)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group, half;
    int last = (ranks - 1) / 2, first[1][3] = {{0, last, 1}}, no = 0, index[MOST_RANKS] = {0}, edges[1] = {0};
    int after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Comm_group(base, &group);
    MPI_Group_range_incl(group, 1, first, &half);
    switch (way) {
    case DUP: MPI_Comm_dup(base, &comm); break;
    case DUP_WITH_INFO: MPI_Comm_dup_with_info(base, MPI_INFO_NULL, &comm); break;
    case SPLIT: MPI_Comm_split(base, rank % 2, -rank, &comm); break;
    case SPLIT_TYPE: MPI_Comm_split_type(base, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm); break;
    case CREATE: MPI_Comm_create(base, half, &comm); break;
    case CREATE_GROUP:
        if (rank <= last)
            MPI_Comm_create_group(base, half, 3, &comm);
        break;
    case CART: MPI_Cart_create(base, 1, &ranks, &no, 0, &comm); break;
    case GRAPH: MPI_Graph_create(base, ranks, index, edges, 0, &comm); break;
    case RING:
        MPI_Dist_graph_create_adjacent(base, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
        break;
    case IDUP: {
        MPI_Request request;
        MPI_Comm_idup(base, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    }
    MPI_Group_free(&half);
    MPI_Group_free(&group);
    return comm;
}

static void replace(struct thread *thread, int which)
{
    int way = (int)draw(&thread->shared, WAYS);
    if (thread->is_used[which] && !FREES_EARLY)
        return;
    if (thread->comms[which] != MPI_COMM_NULL)
        MPI_Comm_free(&thread->comms[which]);
    thread->comms[which] = made(thread->comms[0], way);
    thread->is_ring[which] = way == RING;
}

/* Starts one call, unless this rank is not in its communicator. */
static void start_next(struct thread *thread, struct call *call)
{
    int which = (int)draw(&thread->shared, COMMS), salt = (int)draw(&thread->shared, 1000);
    if (which && draw(&thread->shared, 3) == 0)
        replace(thread, which);
    call->request = MPI_REQUEST_NULL;
    call->form = (int)draw(&thread->shared, FORMS);
    call->kind = (int)draw(&thread->shared, KINDS);
    call->count = (int)draw(&thread->shared, MOST_COUNT);
    call->root = (int)draw(&thread->shared, MOST_RANKS);
    if (call->kind == NEIGHBORS && !thread->is_ring[which])
        call->kind = ALLREDUCE;
#ifndef HAS_PERSISTENT
    if (call->form == PERSISTENT)
        call->form = NONBLOCKING;
#endif
    thread->is_used[which] = 1;
    if (thread->comms[which] != MPI_COMM_NULL)
        start(call, thread->comms[which], salt);
    else
        call->ranks = 0;
    if (call->ranks && call->form == BLOCKING)
        check(call);
}

static void shuffle(int order[], int count, unsigned *state)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)draw(state, (unsigned)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Waits for all requests. MPICH's own persistent calls fail in MPI_Testall, and in an idle MPI_Waitall. */
static void complete(int count, MPI_Request requests[], unsigned way)
{
    int indices[MOST_CALLS], index = 0, ended = 0, flag = 0;
    switch (way) {
    case 0: MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); break;
    case 1:
        while (!flag)
            MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 2:
        while (index != MPI_UNDEFINED)
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 3:
        while (!flag || index != MPI_UNDEFINED)
            MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case 4:
        while (ended != MPI_UNDEFINED)
            MPI_Waitsome(count, requests, &ended, indices, MPI_STATUSES_IGNORE);
        break;
    case 5:
        while (ended != MPI_UNDEFINED)
            MPI_Testsome(count, requests, &ended, indices, MPI_STATUSES_IGNORE);
        break;
    }
}

/* Waits for the calls of this order, and checks them. */
static void finish(struct thread *thread, int order[], int count)
{
    MPI_Request requests[MOST_CALLS];
    shuffle(order, count, &thread->own);
    for (int i = 0; i < count; i++)
        requests[i] = thread->calls[order[i]].request;
    complete(count, requests, is_alike ? 2 + draw(&thread->own, 4) : draw(&thread->own, 6));
    for (int i = 0; i < count; i++) {
        thread->calls[order[i]].request = requests[i];
        check(&thread->calls[order[i]]);
    }
}

/* Starts some persistent calls again, and waits for them. */
static void restart(struct thread *thread, int calls)
{
    int order[MOST_CALLS], count = 0;
    MPI_Request requests[MOST_CALLS];
    for (int i = 0; i < calls; i++) {
        struct call *call = &thread->calls[i];
        int is_chosen = draw(&thread->shared, 3) != 0, salt = (int)draw(&thread->shared, 1000);
        if (!is_chosen || !call->ranks || call->form != PERSISTENT)
            continue;
        fill(call, salt);
        order[count++] = i;
    }
    if (!is_alike)
        shuffle(order, count, &thread->own);
    for (int i = 0; i < count; i++)
        requests[i] = thread->calls[order[i]].request;
    if (draw(&thread->own, 2))
        MPI_Startall(count, requests);
    else
        for (int i = 0; i < count; i++)
            MPI_Start(&requests[i]);
    finish(thread, order, count);
}

static void epoch(struct thread *thread)
{
    int order[MOST_CALLS], count = 0, calls = 4 + (int)draw(&thread->shared, MOST_CALLS - 3), flag;
    for (int i = 0; i < COMMS; i++)
        thread->is_used[i] = 0;
    for (int i = 0; i < calls; i++) {
        struct call *call = &thread->calls[i];
        start_next(thread, call);
        if (call->ranks && call->form != BLOCKING)
            order[count++] = i;
        if (draw(&thread->own, 4) == 0)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, thread->comms[0], &flag, MPI_STATUS_IGNORE);
        if (draw(&thread->own, 8) == 0)
            usleep(draw(&thread->own, 400));
    }
    finish(thread, order, count);
    for (int i = 0; i < RESTARTS; i++)
        restart(thread, calls);
    for (int i = 0; i < calls; i++)
        if (thread->calls[i].request != MPI_REQUEST_NULL)
            MPI_Request_free(&thread->calls[i].request);
}

static void *work(void *argument)
{
    struct thread *thread = argument;
    for (int i = 0; i < epochs; i++)
        epoch(thread);
    for (int i = 1; i < COMMS; i++)
        if (thread->comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&thread->comms[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, all;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 4 || provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            puts("soak: none");
        return MPI_Finalize();
    }
    unsigned seed = (unsigned)strtoul(argv[1], NULL, 10);
    int count = atoi(argv[2]);
    epochs = atoi(argv[3]);
    is_alike = argc > 4;
    for (int i = 0; i < count; i++) {
        struct thread *thread = &threads[i];
        thread->shared = seed + 1000003u * (unsigned)i;
        thread->own = thread->shared * 31 + 977u * (unsigned)rank;
        for (int j = 0; j < COMMS; j++)
            thread->comms[j] = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &thread->comms[0]);
    }
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i].id, NULL, work, &threads[i]);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
        MPI_Comm_free(&threads[i].comms[0]);
    }
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !all)
        puts("soak: right");
    return MPI_Finalize();
}
