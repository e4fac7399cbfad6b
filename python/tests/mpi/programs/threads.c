/* Threads that run collectives at the same time, for a race detector. Prints "threads: right" if all results are right.
 *
 *     threads ROUNDS
 *
 * Each of four threads has its own communicator. In each round it starts two reductions, one with an operator that it
 * frees at once, and two persistent ones, one of them just planned. It duplicates its communicator now and then, and
 * runs blocking collectives, also with a type that has gaps. Then it waits for the reductions in every way.
 * So every thread advances and frees calls that others have started. Each wait also gets many idle requests, so that a
 * call is likely to end in another thread while the array is being searched.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#endif

enum { THREADS = 4, COUNT = 6, IDLE = 200, WAYS = 7 };

static int rank, ranks, rounds, failures;

static void expect(int is_right, const char *what)
{
    if (is_right)
        return;
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
    printf("rank %d of %d: wrong: %s\n", rank, ranks, what);
}

static void add(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)into)[i] += ((int *)from)[i];
}

/* Waits for requests[0] in one of seven ways, beside idle requests. Each has to see that it is active until it has
 * ended. */
static void complete(MPI_Request requests[1 + IDLE], int way)
{
    int flag = 0, index = 0, indices[1 + IDLE] = {0}, count = 1;
    while (!flag) {
        switch (way) {
        case 0:
            MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
            break;
        case 1:
            MPI_Testany(1 + IDLE, requests, &index, &flag, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Testsome(1 + IDLE, requests, &count, indices, MPI_STATUSES_IGNORE);
            flag = count != 0;
            break;
        case 3:
            MPI_Testall(1 + IDLE, requests, &flag, MPI_STATUSES_IGNORE);
            break;
        default:
            flag = 1;
        }
    }
    switch (way) {
    case 4:
        MPI_Waitany(1 + IDLE, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 5:
        MPI_Waitsome(1 + IDLE, requests, &count, indices, MPI_STATUSES_IGNORE);
        break;
    case 6:
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
    expect(index == 0 && indices[0] == 0 && count == 1, "the request that has ended");
}

static void blocking(MPI_Comm comm, MPI_Datatype gaps, int round)
{
    int sum = 0, root = round % ranks, data[2 * COUNT];
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == ranks * (ranks - 1) / 2, "a blocking sum");
    for (int i = 0; i < 2 * COUNT; i++)
        data[i] = rank == root ? round + i : -1;
    MPI_Bcast(data, 1, gaps, root, comm);
    for (int i = 0; i < COUNT; i++)
        expect(data[2 * i] == round + 2 * i, "a broadcast of a type with gaps");
    MPI_Barrier(comm);
}

static void plan(int *one, int *sum, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
#ifdef HAS_PERSISTENT
    MPI_Allreduce_init(one, sum, 1, MPI_INT, op, comm, MPI_INFO_NULL, request);
#else
    (void)one, (void)sum, (void)op;
    MPI_Recv_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, request);
#endif
}

/* The operator is freed at once. */
static void plan_by_own(int *one, int *sum, MPI_Comm comm, MPI_Request *request)
{
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    plan(one, sum, op, comm, request);
    MPI_Op_free(&op);
}

static void *work(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    MPI_Datatype gaps;
    /* The first of each array is in use, the others stay idle. */
    MPI_Request calls[2][1 + IDLE], plans[2][1 + IDLE];
    int one = 1, sums[4];
    plan_by_own(&one, &sums[2], comm, &plans[0][0]);
    for (int i = 1; i <= IDLE; i++) {
        plan(&one, &sums[2], MPI_SUM, comm, &plans[0][i]);
        calls[0][i] = calls[1][i] = plans[1][i] = plans[0][i];
    }
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int round = 0; round < rounds; round++) {
        MPI_Comm used = comm;
        if (round % 8 == 0)
            MPI_Comm_dup(comm, &used);
        MPI_Op op;
        for (int i = 0; i < 4; i++)
            sums[i] = 0;
        MPI_Op_create(add, 1, &op);
        MPI_Iallreduce(&one, &sums[0], 1, MPI_INT, op, used, &calls[0][0]);
        MPI_Op_free(&op);
        MPI_Iallreduce(&one, &sums[1], 1, MPI_INT, MPI_SUM, used, &calls[1][0]);
        plan_by_own(&one, &sums[3], used, &plans[1][0]);
        MPI_Startall(2, (MPI_Request[]){plans[0][0], plans[1][0]});
        blocking(used, gaps, round);
        complete(calls[round % 2], round % WAYS);
        complete(plans[round % 2], round % 6);
        complete(calls[1 - round % 2], round % 5);
        complete(plans[1 - round % 2], (round + 3) % WAYS);
        expect(sums[0] == ranks && sums[1] == ranks, "started sums");
#ifdef HAS_PERSISTENT
        expect(sums[2] == ranks && sums[3] == ranks, "planned sums");
#endif
        for (int way = 0; way < WAYS; way++) {
            MPI_Start(&plans[0][0]);
            complete(plans[0], way);
        }
        MPI_Request_free(&plans[1][0]);
        if (used != comm)
            MPI_Comm_free(&used);
    }
    for (int i = 0; i <= IDLE; i++)
        MPI_Request_free(&plans[0][i]);
    MPI_Type_free(&gaps);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            puts("threads: none");
        return MPI_Finalize();
    }
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
    if (rank == 0 && !failures)
        puts("threads: right");
    return MPI_Finalize();
}
