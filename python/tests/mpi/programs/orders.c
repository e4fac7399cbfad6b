/* Many nonblocking collectives on several communicators, with blocking ones between. All ranks start them in the same
 * order; each rank completes them in its own order. Communicators are made in every way of MPI, and freed; with "freed"
 * also while collectives on them are under way, which Open MPI's own do not survive. Prints "orders: right".
 *
 *     orders STEPS SEED [freed]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 8, MOST_COUNT = 40, MOST_COMMS = 6, MOST_PENDING = 24, WAYS = 11, KINDS = 16 };

static int rank, ranks, failures, frees_early;
static unsigned shared, own;

/* Draws below `limit`: from the state that all ranks share, or from the state of this rank. */
static unsigned draw(unsigned *state, unsigned limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

struct started {
    MPI_Request request;
    int kind, rank, ranks, count, root, salt;
    int counts[MOST_RANKS], places[MOST_RANKS];
    int send[MOST_RANKS * MOST_COUNT], receive[MOST_RANKS * MOST_COUNT];
};

static struct started all[MOST_PENDING];

static int value(const struct started *one, int from, int index)
{
    return one->salt + 100 * from + index;
}

static int sum(const struct started *one, int froms, int index)
{
    int sum = 0;
    for (int from = 0; from < froms; from++)
        sum += value(one, from, index);
    return sum;
}

/* The expected element, or -1 if there is none. */
static int expected(const struct started *one, int index)
{
    int count = one->count, block = count ? index / count : 0, within = count ? index % count : 0;
    int is_first = index < count, is_block = count && block < one->ranks, is_root = one->rank == one->root;
    switch (one->kind) {
    case 1: return is_first ? value(one, one->root, index) : -1;
    case 2: case 15: return is_first ? sum(one, one->ranks, index) : -1;
    case 3: return is_first && is_root ? sum(one, one->ranks, index) : -1;
    case 4: return is_first ? sum(one, one->rank + 1, index) : -1;
    case 5: return is_first && one->rank ? sum(one, one->rank, index) : -1;
    case 6: case 7: return is_block ? value(one, block, within) : -1;
    case 8: case 9: return is_block ? value(one, block, one->rank * count + within) : -1;
    case 10: case 11: return is_block && is_root ? value(one, block, within) : -1;
    case 12: return is_first ? value(one, one->root, one->rank * count + index) : -1;
    case 13: case 14: return is_first ? sum(one, one->ranks, one->rank * count + index) : -1;
    default: return -1;
    }
}

static void start(struct started *one, int kind, MPI_Comm comm)
{
    int *send = one->send, *receive = one->receive, *counts = one->counts, *places = one->places;
    MPI_Comm_rank(comm, &one->rank);
    MPI_Comm_size(comm, &one->ranks);
    one->kind = kind;
    one->root %= one->ranks;
    int count = one->count, root = one->root, is_root = one->rank == root;
    for (int i = 0; i < MOST_RANKS * MOST_COUNT; i++)
        send[i] = value(one, one->rank, i), receive[i] = -1;
    for (int i = 0; i < one->ranks; i++)
        counts[i] = count, places[i] = i * count;
    if (kind == 1 && is_root)
        for (int i = 0; i < count; i++)
            receive[i] = send[i];
    MPI_Request *request = &one->request;
    MPI_Datatype type = MPI_INT;
    switch (kind) {
    case 0: MPI_Ibarrier(comm, request); break;
    case 1: MPI_Ibcast(receive, count, type, root, comm, request); break;
    case 2: MPI_Iallreduce(send, receive, count, type, MPI_SUM, comm, request); break;
    case 3: MPI_Ireduce(send, receive, count, type, MPI_SUM, root, comm, request); break;
    case 4: MPI_Iscan(send, receive, count, type, MPI_SUM, comm, request); break;
    case 5: MPI_Iexscan(send, receive, count, type, MPI_SUM, comm, request); break;
    case 6: MPI_Iallgather(send, count, type, receive, count, type, comm, request); break;
    case 7: MPI_Iallgatherv(send, count, type, receive, counts, places, type, comm, request); break;
    case 8: MPI_Ialltoall(send, count, type, receive, count, type, comm, request); break;
    case 9: MPI_Ialltoallv(send, counts, places, type, receive, counts, places, type, comm, request); break;
    case 10: MPI_Igather(send, count, type, receive, count, type, root, comm, request); break;
    case 11: MPI_Igatherv(send, count, type, receive, counts, places, type, root, comm, request); break;
    case 12: MPI_Iscatter(send, count, type, receive, count, type, root, comm, request); break;
    case 13: MPI_Ireduce_scatter_block(send, receive, count, type, MPI_SUM, comm, request); break;
    case 14: MPI_Ireduce_scatter(send, receive, counts, type, MPI_SUM, comm, request); break;
    case 15: MPI_Allreduce(send, receive, count, type, MPI_SUM, comm), *request = MPI_REQUEST_NULL; break;
    }
}

static void check(struct started *one)
{
    for (int i = 0; i < MOST_RANKS * MOST_COUNT; i++)
        if (one->receive[i] != expected(one, i)) {
            if (failures++ < 3)
                printf("rank %d: wrong: kind %d, %d ranks, element %d of %d: %d instead of %d\n", rank, one->kind,
                       one->ranks, i, one->count, one->receive[i], expected(one, i));
            return;
        }
}

/* Waits for some requests in this rank's own order, or tests one. */
static void end_some(int count, int least)
{
    for (int left = 0; left < count; left++) {
        struct started *one = &all[draw(&own, (unsigned)count)];
        int flag = 0;
        MPI_Test(&one->request, &flag, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < least; i++)
        MPI_Wait(&all[draw(&own, (unsigned)count)].request, MPI_STATUS_IGNORE);
}

static MPI_Comm by_intercommunicator(MPI_Comm world)
{
    MPI_Comm half, between, merged;
    MPI_Comm_split(world, rank % 2, rank, &half);
    if (ranks == 1)
        return half;
    MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 17, &between);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    return merged;
}

static MPI_Comm made(int way)
{
    MPI_Comm comm, world = MPI_COMM_WORLD;
    MPI_Group group, some;
    MPI_Request request;
    int first[1][3] = {{0, (ranks - 1) / 2, 1}}, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    int no = 0, index[MOST_RANKS] = {0}, edges[1] = {0};
    MPI_Comm_group(world, &group);
    MPI_Group_range_incl(group, 1, first, &some);
    switch (way) {
    case 0: MPI_Comm_dup(world, &comm); break;
    case 1: MPI_Comm_split(world, rank % 2, -rank, &comm); break;
    case 2: MPI_Comm_create(world, some, &comm); break;
    case 3: comm = MPI_COMM_NULL; if (rank <= (ranks - 1) / 2) MPI_Comm_create_group(world, some, 3, &comm); break;
    case 4: MPI_Cart_create(world, 1, &ranks, &no, 0, &comm); break;
    case 5: MPI_Dist_graph_create_adjacent(world, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                           &comm); break;
    case 6: MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm); break;
    case 7: MPI_Comm_idup(world, &comm, &request); MPI_Wait(&request, MPI_STATUS_IGNORE); break;
    case 8: comm = by_intercommunicator(world); break;
    case 9: MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &comm); break;
    default: MPI_Graph_create(world, ranks, index, edges, 0, &comm); break;
    }
    MPI_Group_free(&some);
    MPI_Group_free(&group);
    return comm;
}

static void free_one(MPI_Comm *comm, int count)
{
    for (int i = 0; i < count && !frees_early; i++)
        MPI_Wait(&all[i].request, MPI_STATUS_IGNORE);
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

static void round_of(int steps)
{
    MPI_Comm comms[MOST_COMMS] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    int count = 0;
    for (int i = 0; i < MOST_PENDING; i++)
        all[i].request = MPI_REQUEST_NULL;
    for (int i = 2; i < MOST_COMMS; i++)
        comms[i] = MPI_COMM_NULL;
    while (count < steps) {
        int which = (int)draw(&shared, MOST_COMMS), kind = (int)draw(&shared, KINDS);
        struct started *one = &all[count];
        one->count = (int)draw(&shared, MOST_COUNT);
        one->root = (int)draw(&shared, MOST_RANKS);
        one->salt = (int)draw(&shared, 1000);
        if (draw(&shared, 4) == 0 && which > 1) {
            unsigned way = draw(&shared, WAYS);
            free_one(&comms[which], count);
            comms[which] = made((int)way);
        }
        count++;
        one->kind = -1;
        if (comms[which] != MPI_COMM_NULL)
            start(one, kind, comms[which]);
        if (draw(&own, 3) == 0)
            end_some(count, draw(&own, 4) == 0);
    }
    end_some(count, 2 * count);
    for (int i = 2; i < MOST_COMMS; i++)
        free_one(&comms[i], count);
    for (int i = 0; i < count; i++) {
        MPI_Wait(&all[i].request, MPI_STATUS_IGNORE);
        if (all[i].kind >= 0)
            check(&all[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    shared = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    frees_early = argc > 3;
    own = shared + 77u * (unsigned)rank + 1;
    for (int step = 0; step < steps; step += MOST_PENDING)
        round_of(MOST_PENDING);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("orders: %s\n", failures ? "wrong" : "right");
    MPI_Finalize();
    return failures != 0;
}
