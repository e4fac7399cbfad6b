/* Random calls, the same on all ranks, in which some ranks have unusual arguments. A rank that moves nothing may give
 * null pointers, no type or an uncommitted type, no places. A rank that moves data may give MPI_BOTTOM and absolute
 * addresses. In some calls one rank gives a wrong argument: its call returns an error of MPI's class, and the calls of
 * all others end. After each call the ranks compare the received bytes, and a sum, which is right only if they are in
 * step. Arguments: number of calls, seed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, BLOCK = 3, FORMS = 2, ROOM = 2 * MOST_RANKS * BLOCK };

static int rank, ranks, failures, form, sent[ROOM], received[ROOM];
static unsigned long long state;
static MPI_Comm world, graph;
static MPI_Datatype open_type;
static int neighbors, to[MOST_RANKS + 2];

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static int waited(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

#define CALL(name, lower, ...)                                                                                         \
    (form ? waited(MPI_I##lower(__VA_ARGS__, &request), &request) : MPI_##name(__VA_ARGS__))

/* The number of the neighbour's block for this rank. The neighbour has this rank on its other side, unless it is on
 * both. */
static int their_block(int own)
{
    return ranks > 3 ? 1 - own : own;
}

/* MPI_DATATYPE_NULL or an uncommitted type. */
static MPI_Datatype no_type(void)
{
    return draw(2) ? MPI_DATATYPE_NULL : open_type;
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void check(const char *what, int code, int is_right)
{
    int one = 1, sum = 0, all = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    is_right = is_right && code == MPI_SUCCESS;
    MPI_Allreduce(&is_right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (sum != ranks || !all) {
        failures++;
        fprintf(stderr, "rank %d, form %d: %s: code %d, %s, sum %d\n", rank, form, what, code, is_right ? "right" : "wrong", sum);
    }
}

static void fill(void)
{
    for (int i = 0; i < ROOM; i++) {
        sent[i] = 1000 * rank + i;
        received[i] = -1;
    }
}

/* Blocks of BLOCK elements between some pairs of ranks. A rank without blocks gives only null pointers. */
static void alltoallw(void)
{
    int counts[2][MOST_RANKS], places[2][MOST_RANKS], moves[MOST_RANKS][MOST_RANKS], total[2] = {0}, is_right = 1;
    MPI_Datatype types[2][MOST_RANKS], absent = no_type();
    MPI_Request request;
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < ranks; j++)
            moves[i][j] = draw(3) == 0;
    int idle = (int)draw((unsigned)ranks);
    for (int i = 0; i < ranks; i++)
        moves[idle][i] = moves[i][idle] = 0;
    for (int i = 0; i < ranks; i++) {
        counts[0][i] = BLOCK * moves[rank][i];
        counts[1][i] = BLOCK * moves[i][rank];
        total[0] += counts[0][i];
        total[1] += counts[1][i];
        for (int side = 0; side < 2; side++) {
            places[side][i] = i * BLOCK * (int)sizeof(int);
            types[side][i] = counts[side][i] ? MPI_INT : absent;
        }
    }
    int code = CALL(Alltoallw, alltoallw, total[0] ? sent : NULL, counts[0], places[0], types[0], total[1] ? received : NULL,
                    counts[1], places[1], types[1], world);
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < BLOCK; j++)
            is_right = is_right && received[i * BLOCK + j] == (moves[i][rank] ? 1000 * i + rank * BLOCK + j : -1);
    check("alltoallw", code, is_right);
}

/* A rank without elements gives null pointers and an invalid type. */
static void nothing(void)
{
    int counts[MOST_RANKS], places[MOST_RANKS], root = (int)draw((unsigned)ranks), idle = (int)draw((unsigned)ranks);
    int own = rank == idle ? 0 : BLOCK, is_right = 1;
    MPI_Datatype type = rank == idle ? no_type() : (no_type(), MPI_INT);
    MPI_Request request;
    for (int i = 0; i < ranks; i++) {
        counts[i] = i == idle ? 0 : BLOCK;
        places[i] = i * BLOCK;
    }
    int code = CALL(Gatherv, gatherv, own ? sent : NULL, own, type, received, counts, places, MPI_INT, root, world);
    for (int i = 0; i < ranks && rank == root; i++)
        for (int j = 0; j < BLOCK; j++)
            is_right = is_right && received[i * BLOCK + j] == (i == idle ? -1 : 1000 * i + j);
    check("gatherv", code, is_right);
    fill();
    code = CALL(Scatterv, scatterv, sent, counts, places, MPI_INT, own ? received : NULL, own, type, root, world);
    for (int j = 0; j < BLOCK; j++)
        is_right = is_right && received[j] == (own ? 1000 * root + rank * BLOCK + j : -1);
    check("scatterv", code, is_right);
    code = CALL(Bcast, bcast, rank == idle ? NULL : sent, 0, type, root, world);
    check("bcast of nothing", code, 1);
}

/* Blocks with absolute addresses, on all ranks or on one rank only. */
static void neighbor_alltoallw(void)
{
    int counts[MOST_RANKS], is_absolute = (int)draw(2), is_one = rank == (int)draw((unsigned)ranks), is_right = 1;
    MPI_Aint places[2][MOST_RANKS], at[2];
    MPI_Datatype types[MOST_RANKS];
    MPI_Request request;
    is_absolute = is_absolute ? 1 : is_one;
    MPI_Get_address(sent, &at[0]);
    MPI_Get_address(received, &at[1]);
    for (int i = 0; i < neighbors; i++) {
        counts[i] = BLOCK;
        types[i] = MPI_INT;
        for (int side = 0; side < 2; side++)
            places[side][i] = (is_absolute ? at[side] : 0) + (MPI_Aint)sizeof(int) * BLOCK * i;
    }
    void *send = is_absolute || !neighbors ? MPI_BOTTOM : sent, *recv = is_absolute || !neighbors ? MPI_BOTTOM : received;
    int code = CALL(Neighbor_alltoallw, neighbor_alltoallw, send, counts, places[0], types, recv, counts, places[1], types,
                    graph);
    for (int i = 0; i < neighbors; i++)
        for (int j = 0; j < BLOCK; j++)
            is_right = is_right && received[i * BLOCK + j] == 1000 * to[i] + their_block(i) * BLOCK + j;
    check("neighbor_alltoallw", code, is_right);
}

/* The last rank has no neighbours and gives null pointers, as empty vectors do. */
static void neighbor_alltoallv(void)
{
    int counts[] = {BLOCK, BLOCK}, places[] = {0, BLOCK}, is_right = 1, has_any = neighbors > 0;
    MPI_Request request;
    int code = CALL(Neighbor_alltoallv, neighbor_alltoallv, has_any ? sent : NULL, has_any ? counts : NULL,
                    has_any ? places : NULL, MPI_INT, has_any ? received : NULL, has_any ? counts : NULL,
                    has_any ? places : NULL, MPI_INT, graph);
    for (int i = 0; i < neighbors; i++)
        for (int j = 0; j < BLOCK; j++)
            is_right = is_right && received[i * BLOCK + j] == 1000 * to[i] + their_block(i) * BLOCK + j;
    check("neighbor_alltoallv", code, is_right);
    fill();
    code = CALL(Neighbor_alltoall, neighbor_alltoall, has_any ? sent : NULL, has_any ? BLOCK : 0, MPI_INT,
                has_any ? received : NULL, has_any ? BLOCK : 0, MPI_INT, graph);
    for (int i = 0; i < neighbors; i++)
        for (int j = 0; j < BLOCK; j++)
            is_right = is_right && received[i * BLOCK + j] == 1000 * to[i] + their_block(i) * BLOCK + j;
    check("neighbor_alltoall", code, is_right);
}

/* Data at absolute addresses on one rank only. */
static void bottom(void)
{
    MPI_Datatype absolute;
    MPI_Aint address;
    MPI_Request request;
    int is_one = rank == (int)draw((unsigned)ranks), root = (int)draw((unsigned)ranks), is_right = 1;
    MPI_Get_address(sent, &address);
    MPI_Type_create_hindexed(1, &(int){BLOCK}, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    int code = is_one ? CALL(Bcast, bcast, MPI_BOTTOM, 1, absolute, root, world)
                      : CALL(Bcast, bcast, sent, BLOCK, MPI_INT, root, world);
    for (int j = 0; j < BLOCK; j++)
        is_right = is_right && sent[j] == 1000 * root + j;
    MPI_Type_free(&absolute);
    check("bcast at absolute addresses", code, is_right);
}

/* One rank makes a mistake: its call returns this error, and the calls of all others return. */
static void mistake(void)
{
    enum { COUNT, TYPE, OPEN_TYPE, OPERATOR, ROOT, BUFFER, MISTAKES };
    int wrong = (int)draw((unsigned)ranks), root = (int)draw((unsigned)ranks), what = (int)draw(MISTAKES);
    int is_one = rank == wrong, kind = (int)draw(6), has_operator = kind > 3, has_root = kind < 3 || kind == 5, code;
    MPI_Request request = MPI_REQUEST_NULL;
    /* A rank with a wrong root takes no part: only tried where no other rank waits for it. */
    int needs_none = kind == 0 || kind == 2 ? wrong != root : wrong == root;
    if ((what == OPERATOR && !has_operator) || (what == ROOT && !(has_root && needs_none)))
        what = COUNT;
    int count = is_one && what == COUNT ? -1 : BLOCK, to_root = is_one && what == ROOT ? ranks : root;
    MPI_Datatype type = is_one && what == TYPE ? MPI_DATATYPE_NULL : is_one && what == OPEN_TYPE ? open_type : MPI_INT;
    MPI_Op op = is_one && what == OPERATOR ? MPI_OP_NULL : MPI_SUM;
    int *data = is_one && what == BUFFER ? NULL : sent;
    switch (kind) {
    case 0: code = CALL(Bcast, bcast, data, count, type, to_root, world); break;
    case 1: code = CALL(Gather, gather, data, count, type, received, BLOCK, MPI_INT, to_root, world); break;
    case 2: code = CALL(Scatter, scatter, sent, BLOCK, MPI_INT, is_one && what == BUFFER ? NULL : received, count, type, to_root,
                        world); break;
    case 3: code = CALL(Alltoall, alltoall, data, count, type, received, BLOCK, MPI_INT, world); break;
    case 4: code = CALL(Allreduce, allreduce, data, received, count, type, op, world); break;
    default: code = CALL(Reduce, reduce, data, received, count, type, op, to_root, world); break;
    }
    static const int classes[MISTAKES] = {MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ROOT, MPI_ERR_BUFFER};
    int class = class_of(code), is_right = !is_one || class == classes[what] || (has_operator && class == MPI_ERR_OP);
    if (!is_right)
        fprintf(stderr, "rank %d: kind %d, mistake %d: got class %d\n", rank, kind, what, class);
    check("mistake", MPI_SUCCESS, is_right);
}

int main(int argc, char **argv)
{
    static void (*const kinds[])(void) = {alltoallw, nothing, neighbor_alltoallw, neighbor_alltoallv, bottom, mistake};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int calls = atoi(argv[1]), in_ring = ranks - 1;
    state = strtoull(argv[2], NULL, 10);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Type_contiguous(1, MPI_INT, &open_type);
    if (rank < in_ring) {
        to[0] = (rank + in_ring - 1) % in_ring;
        to[1] = (rank + 1) % in_ring;
        neighbors = 2;
    }
    MPI_Dist_graph_create_adjacent(world, neighbors, to, MPI_UNWEIGHTED, neighbors, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    for (int i = 0; i < calls; i++) {
        fill();
        form = (int)draw(FORMS);
        kinds[draw(sizeof kinds / sizeof *kinds)]();
    }
    if (rank == 0)
        printf("%d calls on %d ranks: %d wrong\n", calls, ranks, failures);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
