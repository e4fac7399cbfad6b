/* Persistent collectives, planned once and started in many rounds. Types, operators and arrays of a plan are freed or
 * overwritten before its first start. In each round all ranks start the same plans, each in its own order, beside a
 * nonblocking collective, messages and persistent messages. Each rank waits for all of them in one array, in one of
 * nine ways that it draws, and checks the results and the requests. Finally a communicator is freed while its plans are
 * under way, and the plans start once more. Prints "persistent: right".
 *
 *     persistent ROUNDS SEED [alike]
 *
 * alike: for MPI's own plans. Ranks start them in the same order, and all arguments stay until the plans are freed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)

enum { MOST_RANKS = 8, COUNT = 5, STEP = 2 * COUNT, SIZE = MOST_RANKS * STEP, KINDS = 17, PLANS = 2 * KINDS, OTHERS = 5 };
enum { ALLREDUCE, BCAST, REDUCE, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE_SCATTER, BLOCK, SCATTER,
       SCATTERV, GATHER, GATHERV, BARRIER, SCAN, EXSCAN };

struct plan {
    MPI_Request request;
    int kind, root, is_started, send[SIZE], receive[SIZE];
    int counts[MOST_RANKS], places[MOST_RANKS], bytes[MOST_RANKS];
    MPI_Datatype block, types[MOST_RANKS];
    MPI_Op op;
};

static struct plan plans[PLANS];
static int rank, ranks, is_alike, failures;
static unsigned shared, own;

static unsigned draw(unsigned *state, unsigned limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

static void expect(int is_right, const char *what, int which, int round)
{
    if (!is_right && failures++ < 5)
        printf("rank %d of %d: wrong: %s, %d in round %d\n", rank, ranks, what, which, round);
}

static void add(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)into)[i] += ((int *)from)[i];
}

/* Replaces an operator that was freed too early. */
static void spoil(void *from, void *into, int *count, MPI_Datatype *type)
{
    (void)from, (void)type;
    memset(into, 0, sizeof(int) * (size_t)*count);
}

static void make_arguments(struct plan *plan)
{
    MPI_Op_create(add, 1, &plan->op);
    MPI_Type_contiguous(COUNT, MPI_INT, &plan->block);
    MPI_Type_commit(&plan->block);
    for (int i = 0; i < MOST_RANKS; i++) {
        plan->counts[i] = plan->kind == ALLTOALLW ? 1 : COUNT;
        plan->places[i] = i * STEP;
        plan->bytes[i] = 4 * i * STEP;
        plan->types[i] = plan->block;
    }
}

static void destroy_arguments(struct plan *plan)
{
    MPI_Op_free(&plan->op);
    MPI_Op_create(spoil, 1, &plan->op);
    MPI_Type_free(&plan->block);
    memset(plan->counts, -1, sizeof plan->counts);
    memset(plan->places, -1, sizeof plan->places);
    memset(plan->bytes, -1, sizeof plan->bytes);
    memset(plan->types, -1, sizeof plan->types);
}

/* One of the two plans of each kind may have its input in place. */
static int is_in_place(const struct plan *plan)
{
    return plan->kind == ALLGATHERV && plan - plans >= KINDS;
}

static void make(struct plan *plan, MPI_Comm comm)
{
    make_arguments(plan);
    int *counts = plan->counts, *places = plan->places, *bytes = plan->bytes, root = plan->root;
    int *s = plan->send, *r = plan->receive;
    MPI_Datatype block = plan->block, *types = plan->types;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Request *request = &plan->request;
    MPI_Op op = plan->op;
    switch (plan->kind) {
    case ALLREDUCE: MPI_Allreduce_init(s, r, COUNT, MPI_INT, op, comm, info, request); break;
    case BCAST: MPI_Bcast_init(rank == root ? s : r, 1, block, root, comm, info, request); break;
    case REDUCE: MPI_Reduce_init(s, r, COUNT, MPI_INT, op, root, comm, info, request); break;
    case ALLGATHER: MPI_Allgather_init(s, 1, block, r, COUNT, MPI_INT, comm, info, request); break;
    case ALLGATHERV:
        MPI_Allgatherv_init(is_in_place(plan) ? MPI_IN_PLACE : s, 1, block, r, counts, places, MPI_INT, comm, info, request);
        break;
    case ALLTOALL: MPI_Alltoall_init(s, 1, block, r, COUNT, MPI_INT, comm, info, request); break;
    case ALLTOALLV: MPI_Alltoallv_init(s, counts, places, MPI_INT, r, counts, places, MPI_INT, comm, info, request); break;
    case ALLTOALLW: MPI_Alltoallw_init(s, counts, bytes, types, r, counts, bytes, types, comm, info, request); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_init(s, r, counts, MPI_INT, op, comm, info, request); break;
    case BLOCK: MPI_Reduce_scatter_block_init(s, r, COUNT, MPI_INT, op, comm, info, request); break;
    case SCATTER: MPI_Scatter_init(s, COUNT, MPI_INT, r, 1, block, root, comm, info, request); break;
    case SCATTERV: MPI_Scatterv_init(s, counts, places, MPI_INT, r, 1, block, root, comm, info, request); break;
    case GATHER: MPI_Gather_init(s, 1, block, r, COUNT, MPI_INT, root, comm, info, request); break;
    case GATHERV: MPI_Gatherv_init(s, 1, block, r, counts, places, MPI_INT, root, comm, info, request); break;
    case BARRIER: MPI_Barrier_init(comm, info, request); break;
    case SCAN: MPI_Scan_init(s, r, COUNT, MPI_INT, op, comm, info, request); break;
    case EXSCAN: MPI_Exscan_init(s, r, COUNT, MPI_INT, op, comm, info, request); break;
    }
    if (!is_alike)
        destroy_arguments(plan);
}

/* Element `index` of the data that a rank sends in a round. */
static int value(const struct plan *plan, int round, int from, int index)
{
    return 1000 * round + 100 * from + index + 7 * (int)(plan - plans);
}

static int sum(const struct plan *plan, int round, int froms, int index)
{
    int sum = 0;
    for (int from = 0; from < froms; from++)
        sum += value(plan, round, from, index);
    return sum;
}

/* The expected element, or -1 if there is none. */
static int expected(const struct plan *plan, int round, int at)
{
    int is_gapped = plan->kind == ALLGATHERV || plan->kind == ALLTOALLV || plan->kind == ALLTOALLW || plan->kind == GATHERV;
    int step = is_gapped ? STEP : COUNT, block = at / step, within = at % step, is_root = rank == plan->root;
    int is_first = at < COUNT, is_block = block < ranks && within < COUNT, mine = rank * COUNT + at;
    switch (plan->kind) {
    case ALLREDUCE: return is_first ? sum(plan, round, ranks, at) : -1;
    case BCAST: return is_first && !is_root ? value(plan, round, plan->root, at) : -1;
    case REDUCE: return is_first && is_root ? sum(plan, round, ranks, at) : -1;
    case ALLGATHER: case ALLGATHERV: return is_block ? value(plan, round, block, within) : -1;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW: return is_block ? value(plan, round, block, rank * COUNT + within) : -1;
    case REDUCE_SCATTER: case BLOCK: return is_first ? sum(plan, round, ranks, mine) : -1;
    case SCATTER: case SCATTERV: return is_first ? value(plan, round, plan->root, mine) : -1;
    case GATHER: case GATHERV: return is_block && is_root ? value(plan, round, block, within) : -1;
    case SCAN: return is_first ? sum(plan, round, rank + 1, at) : -1;
    case EXSCAN: return is_first && rank ? sum(plan, round, rank, at) : -1;
    default: return -1;
    }
}

static void fill(struct plan *plan, int round)
{
    int is_gapped = plan->kind == ALLTOALLV || plan->kind == ALLTOALLW || plan->kind == SCATTERV;
    int step = is_gapped ? STEP : COUNT;
    memset(plan->send, -1, sizeof plan->send);
    memset(plan->receive, -1, sizeof plan->receive);
    for (int i = 0; i < ranks * COUNT; i++)
        plan->send[i / COUNT * step + i % COUNT] = value(plan, round, rank, i);
    for (int i = 0; i < COUNT && is_in_place(plan); i++)
        plan->receive[rank * STEP + i] = value(plan, round, rank, i);
}

static void check(const struct plan *plan, int round)
{
    int is_right = 1;
    for (int i = 0; i < SIZE; i++)
        is_right &= plan->receive[i] == expected(plan, round, i);
    expect(is_right, "a result", plan->kind, round);
}

static void shuffle(int *order, int count, unsigned *state)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)draw(state, (unsigned)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Starts the plans of this round, which all ranks share: one by one or all at once. */
static void start(int round)
{
    int order[PLANS], count = 0;
    MPI_Request requests[PLANS];
    shuffle(order, PLANS, is_alike ? &shared : &own);
    for (int i = 0; i < PLANS; i++) {
        plans[i].is_started = draw(&shared, 3) != 0;
        fill(&plans[i], round);
    }
    for (int i = 0; i < PLANS; i++)
        if (plans[order[i]].is_started)
            requests[count++] = plans[order[i]].request;
    if (draw(&own, 2))
        MPI_Startall(count, requests);
    else
        for (int i = 0; i < count; i++)
            MPI_Start(&requests[i]);
}

/* With its own persistent collectives, MPICH 5.0.2 fails in MPI_Testall, and crashes in an idle MPI_Waitall. */
static int draw_way(void)
{
#ifdef OPEN_MPI
    int least = 0;
#else
    int least = is_alike ? 2 : 0;
#endif
    return least + (int)draw(&own, 9 - (unsigned)least);
}

/* Waits for all requests of an array; completed ones that are not persistent become MPI_REQUEST_NULL. */
static void complete(int count, MPI_Request *requests, int way)
{
    int indices[PLANS + OTHERS], index = 0, ended = 0, flag = 0;
    MPI_Status statuses[PLANS + OTHERS];
    switch (way) {
    case 0: MPI_Waitall(count, requests, statuses); break;
    case 1:
        while (!flag)
            MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 2:
        while (index != MPI_UNDEFINED)
            MPI_Waitany(count, requests, &index, statuses);
        break;
    case 3:
        while (!flag || index != MPI_UNDEFINED)
            MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case 4:
        while (ended != MPI_UNDEFINED)
            MPI_Waitsome(count, requests, &ended, indices, statuses);
        break;
    case 5:
        while (ended != MPI_UNDEFINED)
            MPI_Testsome(count, requests, &ended, indices, MPI_STATUSES_IGNORE);
        break;
    case 6:
        for (int i = 0; i < count; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 7:
        for (int i = 0; i < count; i++)
            for (flag = 0; !flag;)
                MPI_Test(&requests[i], &flag, statuses);
        break;
    default:
        for (int i = 0; i < count; i++) {
            for (flag = 0; !flag;)
                MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            expect(flag, "a status", i, 0);
        }
    }
}

/* A wait for an inactive request returns an empty status and keeps the request. */
static void check_idle(struct plan *plan, int round)
{
    MPI_Request request = plan->request;
    MPI_Status status;
    int count, flag = 0;
    if (round % 2)
        MPI_Wait(&request, &status);
    else
        MPI_Test(&request, &flag, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(request == plan->request && (round % 2 || flag), "an idle request", plan->kind, round);
    expect(status.MPI_SOURCE == MPI_ANY_SOURCE && count == 0, "an empty status", plan->kind, round);
}

static void run_round(int round, MPI_Request persistent[2], int messages[2])
{
    int order[PLANS + OTHERS], count = PLANS + OTHERS, one = 1, total = 0, after = (rank + 1) % ranks;
    int before = (rank + ranks - 1) % ranks, to = round, from = -1;
    MPI_Request all[PLANS + OTHERS], shuffled[PLANS + OTHERS];
    MPI_Iallreduce(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[PLANS]);
    MPI_Irecv(&from, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &all[PLANS + 1]);
    MPI_Isend(&to, 1, MPI_INT, after, 1, MPI_COMM_WORLD, &all[PLANS + 2]);
    messages[0] = round;
    MPI_Startall(2, persistent);
    memcpy(&all[PLANS + 3], persistent, 2 * sizeof *persistent);
    if (draw(&shared, 3)) { /* this rank makes the others wait for its starts */
        for (int i = PLANS; i < PLANS + OTHERS; i++)
            MPI_Wait(&all[i], MPI_STATUS_IGNORE);
        usleep(rank == round % ranks ? 3000 : 0);
    }
    start(round);
    for (int i = 0; i < PLANS; i++)
        all[i] = plans[i].request;
    if (round % 3 == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    shuffle(order, count, &own);
    for (int i = 0; i < count; i++)
        shuffled[i] = all[order[i]];
    complete(count, shuffled, draw_way());
    for (int i = 0; i < count; i++) {
        int is_message = order[i] >= PLANS && order[i] < PLANS + 3;
        expect(shuffled[i] == (is_message ? MPI_REQUEST_NULL : all[order[i]]), "a request", order[i], round);
    }
    for (int i = 0; i < PLANS; i++)
        if (plans[i].is_started)
            check(&plans[i], round);
    check_idle(&plans[round % PLANS], round);
    expect(total == ranks && from == round && messages[1] == round, "other calls", 0, round);
}

/* Frees the communicator of the second half of the plans while they are under way, and starts them once more. */
static void end(MPI_Comm *comm, int round)
{
    for (int is_last = 0; is_last < 2; is_last++) {
        for (int i = KINDS; i < PLANS; i++) {
            fill(&plans[i], round + is_last);
            MPI_Start(&plans[i].request);
        }
        if (!is_alike && !is_last)
            MPI_Comm_free(comm);
        for (int i = KINDS; i < PLANS; i++) {
            MPI_Wait(&plans[i].request, MPI_STATUS_IGNORE);
            check(&plans[i], round + is_last);
        }
    }
    for (int i = 0; i < PLANS; i++) {
        MPI_Request_free(&plans[i].request);
        expect(plans[i].request == MPI_REQUEST_NULL, "a freed request", i, round);
        if (is_alike)
            destroy_arguments(&plans[i]);
        MPI_Op_free(&plans[i].op);
    }
    if (is_alike)
        MPI_Comm_free(comm);
}

int main(int argc, char **argv)
{
    int all, messages[2];
    MPI_Comm comm;
    MPI_Request persistent[2];
    MPI_Init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    shared = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    is_alike = argc > 3;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    own = shared + 100 * (unsigned)rank;
    MPI_Send_init(&messages[0], 1, MPI_INT, (rank + 1) % ranks, 2, comm, &persistent[0]);
    MPI_Recv_init(&messages[1], 1, MPI_INT, (rank + ranks - 1) % ranks, 2, comm, &persistent[1]);
    for (int i = 0; i < PLANS; i++) {
        plans[i].kind = i % KINDS;
        plans[i].root = (int)draw(&shared, (unsigned)ranks);
        make(&plans[i], i < KINDS ? MPI_COMM_WORLD : comm);
    }
    for (int round = 0; round < rounds; round++)
        run_round(round, persistent, messages);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&persistent[i]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &persistent[0]); /* never freed */
    end(&comm, rounds);
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !all)
        puts("persistent: right");
    MPI_Finalize();
    return 0;
}

#else

int main(void)
{
    puts("persistent: none");
    return 0;
}

#endif
