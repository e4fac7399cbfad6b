/* Random calls of all neighbourhood collectives, the same on all ranks. Every rank knows the graph and all data, and
 * compares all bytes of its result, also bytes that no neighbour sends. Arguments: number of calls, seed.
 *
 * Communicators: grids of one to three dimensions, periodic or not, some with two neighbours on one rank or a rank as
 * its own neighbour; a graph; distributed graphs with repeated edges and loops, or with the diagonals of a grid. Types:
 * with and without gaps; alltoallw receives blocks by another type than it sends. Calls are blocking, nonblocking and
 * persistent, with ints and large counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_EDGES = 24, MOST_COUNT = 300, COMMS = 8, ROOM = MOST_EDGES * (MOST_COUNT + 2) * 3 };

/* Destinations and sources of each rank, with the number of the block at the other rank; -1 if there is none. */
typedef struct {
    MPI_Comm comm;
    int sent[MOST_RANKS], received[MOST_RANKS];
    int to[MOST_RANKS][MOST_EDGES], from[MOST_RANKS][MOST_EDGES], block[MOST_RANKS][MOST_EDGES];
} graph;

static graph graphs[COMMS];
static int rank, ranks, failures, sent[ROOM], received[ROOM], expected[ROOM];
static unsigned long long state;
static MPI_Datatype gaps, pair, gaps_pair;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static void make_grid(graph *g, int dimensions, const int *periods)
{
    int sizes[3] = {0}, at[3];
    MPI_Dims_create(ranks, dimensions, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periods, 0, &g->comm);
    for (int r = 0; r < ranks; r++) {
        g->sent[r] = g->received[r] = 2 * dimensions;
        for (int i = 0; i < 2 * dimensions; i++) {
            MPI_Cart_coords(g->comm, r, dimensions, at);
            int moved = at[i / 2] += i % 2 ? 1 : -1, size = sizes[i / 2];
            g->to[r][i] = -1;
            if (periods[i / 2] || (moved >= 0 && moved < size))
                MPI_Cart_rank(g->comm, at, &g->to[r][i]);
            g->from[r][i] = g->to[r][i];
            g->block[r][i] = i ^ 1;
        }
    }
}

/* Sets the incoming edges, in the order of their sources. */
static void find_arriving(graph *g)
{
    for (int r = 0; r < ranks; r++)
        for (int of = 0; of < ranks; of++)
            for (int i = 0; i < g->sent[of]; i++)
                if (g->to[of][i] == r) {
                    g->from[r][g->received[r]] = of;
                    g->block[r][g->received[r]++] = i;
                }
}

static void make_distributed(graph *g)
{
    for (int r = 0; r < ranks; r++) {
        g->sent[r] = (int)draw(5) ? (int)draw(4) : 0;
        for (int i = 0; i < g->sent[r]; i++)
            g->to[r][i] = i && draw(3) == 0 ? g->to[r][i - 1] : (int)draw((unsigned)ranks);
    }
    for (int r = 0; r < ranks; r++) /* the most edges of a rank */
        if (4 * ranks > MOST_EDGES && g->sent[r] > 1)
            g->sent[r] = 1;
    find_arriving(g);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g->received[rank], g->from[rank], MPI_UNWEIGHTED, g->sent[rank],
                                   g->to[rank], MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &g->comm);
}

/* Neighbours at all places around a rank of a periodic grid, in a random order, the same on all ranks; sources are in
 * the opposite order. */
static void make_surroundings(graph *g)
{
    MPI_Comm grid;
    int sizes[2] = {0}, periods[2] = {1, 1}, places[8], at[2];
    MPI_Dims_create(ranks, 2, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
    for (int i = 0; i < 8; i++) {
        int j = (int)draw((unsigned)i + 1);
        places[i] = places[j];
        places[j] = i < 4 ? i : i + 1; /* 4 is the rank itself */
    }
    for (int r = 0; r < ranks; r++) {
        g->sent[r] = g->received[r] = 8;
        for (int i = 0; i < 8; i++)
            for (int way = 1; way >= -1; way -= 2) {
                MPI_Cart_coords(grid, r, 2, at);
                at[0] += way * (places[i] / 3 - 1);
                at[1] += way * (places[i] % 3 - 1);
                MPI_Cart_rank(grid, at, way == 1 ? &g->to[r][i] : &g->from[r][7 - i]);
            }
    }
    for (int r = 0; r < ranks; r++)
        for (int i = 0, earlier; i < 8; i++) {
            for (int j = earlier = 0; j < i; j++)
                earlier += g->from[r][j] == g->from[r][i];
            for (g->block[r][i] = 0;; g->block[r][i]++)
                if (g->to[g->from[r][i]][g->block[r][i]] == r && earlier-- == 0)
                    break;
        }
    MPI_Dist_graph_create_adjacent(grid, 8, g->from[rank], MPI_UNWEIGHTED, 8, g->to[rank], MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &g->comm);
    MPI_Comm_free(&grid);
}

/* A ring, since the neighbours of MPI_Graph_create are destinations and sources. */
static void make_graph(graph *g)
{
    int ends[MOST_RANKS], edges[3 * MOST_RANKS + 3], count = 0;
    for (int r = 0; r < ranks; r++) {
        int of[] = {(r + 1) % ranks, (r + ranks - 1) % ranks};
        for (int i = 0; i < (ranks > 2 ? 2 : 1); i++)
            edges[count++] = g->to[r][g->sent[r]++] = of[i];
        ends[r] = count;
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &g->comm);
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < g->sent[r]; i++) {
            int of = g->to[r][i];
            g->from[r][g->received[r]++] = of;
            for (g->block[r][i] = 0; g->to[of][g->block[r][i]] != r;)
                g->block[r][i]++;
        }
}

static int value(int of, int block, int element) { return (of * 41 + block) * 1009 + element + (int)(state % 1000003); }

/* The number of elements, in pairs, of a block that a rank sends; the same on all ranks. */
static int count_of(int of, int block, int most, unsigned long long seed)
{
    unsigned long long mixed = (seed + (unsigned)(of * 97 + block * 13)) * 0x9E3779B97F4A7C15ull;
    return (mixed >> 60) % 3 == 0 ? 0 : 2 * (int)((mixed >> 33) % (unsigned)(most / 2 + 1));
}

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, FUNCTIONS };
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

static void finish(MPI_Request *request, int is_persistent)
{
    if (is_persistent) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        memset(received, 0x5a, sizeof received);
        MPI_Start(request);
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (is_persistent)
        MPI_Request_free(request);
}

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#define INIT(name, ...) MPI_Neighbor_##name##_init(__VA_ARGS__, g->comm, MPI_INFO_NULL, &request)
#else
#define HAS_PERSISTENT 0
#define INIT(name, ...) MPI_Ineighbor_##name(__VA_ARGS__, g->comm, &request)
#endif
#define CALL(name, ...)                                                                                                \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        if (form == BLOCKING)                                                                                          \
            MPI_Neighbor_##name(__VA_ARGS__, g->comm);                                                                 \
        else if (form == NONBLOCKING)                                                                                  \
            MPI_Ineighbor_##name(__VA_ARGS__, g->comm, &request);                                                      \
        else                                                                                                           \
            INIT(name, __VA_ARGS__);                                                                                   \
        if (form != BLOCKING)                                                                                          \
            finish(&request, HAS_PERSISTENT && form == PERSISTENT);                                                    \
    } while (0)
#if MPI_VERSION >= 4
#define CALL_LARGE(name, ...) MPI_Neighbor_##name##_c(__VA_ARGS__, g->comm)
#else
#define CALL_LARGE(name, ...) CALL(name, __VA_ARGS__)
#endif

/* Writes the elements of a block; each has `step` ints, of which the first is data. */
static void put(int *at, int of, int block, int count, int step)
{
    for (int i = 0; i < count; i++)
        at[i * step] = value(of, block, i);
}

static void one_call(graph *g)
{
    int function = (int)draw(FUNCTIONS), form = (int)draw(FORMS), is_large = draw(4) == 0, step = draw(2) ? 3 : 1;
    int sends_same = function <= ALLGATHERV, is_even = function == ALLGATHER || function == ALLTOALL;
    static const int counts[] = {0, 2, 4, 30, MOST_COUNT};
    int most = counts[draw(5)], out = g->sent[rank], in = g->received[rank];
    unsigned long long seed = state;
    MPI_Datatype type = step == 3 ? gaps : MPI_INT, other = step == 3 ? gaps_pair : pair;
    int to_counts[MOST_EDGES], to_places[MOST_EDGES], from_counts[MOST_EDGES], from_places[MOST_EDGES];
    MPI_Aint to_at[MOST_EDGES], from_at[MOST_EDGES];
    MPI_Datatype to_types[MOST_EDGES], from_types[MOST_EDGES];
    memset(sent, 0, sizeof sent);
    memset(received, 0x5a, sizeof received);
    memset(expected, 0x5a, sizeof expected);
    int room = is_even ? most : most + 2;
    for (int i = 0; i < out; i++) {
        int block = sends_same ? 0 : i;
        to_counts[i] = is_even ? most : count_of(rank, block, most, seed);
        to_places[i] = block * room;
        to_at[i] = (MPI_Aint)to_places[i] * step * (MPI_Aint)sizeof(int);
        to_types[i] = type;
        put(sent + to_places[i] * step, rank, block, to_counts[i], step);
    }
    int own = is_even ? most : count_of(rank, 0, most, seed);
    if (sends_same)
        put(sent, rank, 0, own, step);
    for (int i = 0; i < in; i++) {
        int of = g->from[rank][i], block = sends_same ? 0 : g->block[rank][i];
        int count = is_even ? most : of < 0 ? 2 : count_of(of, block, most, seed);
        from_counts[i] = count;
        from_places[i] = (function == ALLTOALLV || function == ALLTOALLW ? in - 1 - i : i) * room;
        from_at[i] = (MPI_Aint)from_places[i] * step * (MPI_Aint)sizeof(int);
        from_types[i] = type;
        if (of >= 0)
            put(expected + from_places[i] * step, of, block, count, step);
        if (function == ALLTOALLW && i % 2) {
            from_counts[i] /= 2;
            from_types[i] = other;
        }
    }
    if (is_large && function == ALLTOALL)
        CALL_LARGE(alltoall, sent, most, type, received, most, type);
    else if (is_large && function == ALLGATHER)
        CALL_LARGE(allgather, sent, most / 2, other, received, most, type);
    else if (function == ALLGATHER)
        CALL(allgather, sent, most, type, received, most / 2, other);
    else if (function == ALLGATHERV)
        CALL(allgatherv, sent, own, type, received, from_counts, from_places, type);
    else if (function == ALLTOALL)
        CALL(alltoall, sent, most, type, received, most / 2, other);
    else if (function == ALLTOALLV)
        CALL(alltoallv, sent, to_counts, to_places, type, received, from_counts, from_places, type);
    else
        CALL(alltoallw, sent, to_counts, to_at, to_types, received, from_counts, from_at, from_types);
    for (int i = 0; i < ROOM; i++)
        if (received[i] != expected[i]) {
            if (failures++ < 5)
                printf("rank %d of %d: graph %d, function %d, form %d, large %d, step %d, at most %d: element %d is %d, expected %d\n",
                       rank, ranks, (int)(g - graphs), function, form, is_large, step, most, i, received[i], expected[i]);
            break;
        }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 1000, all, yes[3] = {1, 1, 1}, mixed[3] = {0, 1, 0};
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int lengths[1] = {1};
    MPI_Aint places[1] = {0};
    MPI_Datatype types[1] = {MPI_INT}, one;
    MPI_Type_create_struct(1, lengths, places, types, &one);
    MPI_Type_create_resized(one, 0, 3 * sizeof(int), &gaps);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_contiguous(2, gaps, &gaps_pair);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&gaps_pair);
    make_grid(&graphs[0], 1, yes);
    make_grid(&graphs[1], 1, mixed);
    make_grid(&graphs[2], 2, yes);
    make_grid(&graphs[3], 2, mixed);
    make_grid(&graphs[4], 3, mixed);
    make_graph(&graphs[5]);
    make_distributed(&graphs[6]);
    make_surroundings(&graphs[7]);
    for (int i = 0; i < calls; i++) {
        unsigned long long common = state;
        one_call(&graphs[draw(COMMS)]);
        state = common * 2862933555777941757ull + 3037000493ull;
    }
    PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d calls on %d ranks: %d wrong\n", calls, ranks, all);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&graphs[i].comm);
    MPI_Type_free(&one);
    MPI_Type_free(&gaps);
    MPI_Type_free(&pair);
    MPI_Type_free(&gaps_pair);
    MPI_Finalize();
    return all != 0;
}
