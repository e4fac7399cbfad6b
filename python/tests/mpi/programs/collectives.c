/* Random calls of all collectives, the same on all ranks. Every rank knows the data of all ranks, computes the contents
 * of its buffers after the call, and compares all their bytes. Arguments: number of calls, seed.
 *
 * Types: predefined types, pairs, and a type with gaps and a negative lower bound, whose operator does not commute.
 * Half of the moving collectives describe one side by elements and the other by a type of two elements. Communicators:
 * the world, the reversed world, halves, and the process itself. A quarter of the calls are nonblocking, a quarter
 * persistent. Persistent calls start one to three times on different data; the last start is checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 17, START = 64, MOST_RANKS = 64, MOST_COUNT = 1000 };
typedef struct { unsigned char sent[SIZE], received[SIZE]; } buffers;
typedef struct { MPI_Datatype type, twice; MPI_Op op; int extent, pieces[4]; } kind;

static buffers *ours, *expected, *of_rank[MOST_RANKS];
static unsigned long long state;
static buffers given;
static int failures, rank, ranks, world_rank, worlds[MOST_RANKS];
static MPI_Comm comm;
static kind kinds[7];

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

/* Affine maps x -> a x + b with b at -8 and a at 8: they do not commute. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        unsigned long long *f = (unsigned long long *)((char *)in + i * 32);
        unsigned long long *g = (unsigned long long *)((char *)inout + i * 32);
        g[-1] = f[-1] * g[1] + g[-1];
        g[1] = f[1] * g[1];
    }
}

static void make_kinds(void)
{
    MPI_Datatype gaps, types[2] = {MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_LONG_LONG};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {-8, 8};
    kinds[0] = (kind){MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_OP_NULL, 32, {-8, 8, 8, 8}};
    kinds[1] = (kind){MPI_INT, MPI_DATATYPE_NULL, MPI_SUM, 4, {0, 4}};
    kinds[2] = (kind){MPI_BYTE, MPI_DATATYPE_NULL, MPI_BXOR, 1, {0, 1}};
    kinds[3] = (kind){MPI_DOUBLE_INT, MPI_DATATYPE_NULL, MPI_MAXLOC, 16, {0, 12}};
    kinds[4] = (kind){MPI_LONG_LONG, MPI_DATATYPE_NULL, MPI_MIN, 8, {0, 8}};
    kinds[5] = (kind){MPI_UNSIGNED_SHORT, MPI_DATATYPE_NULL, MPI_PROD, 2, {0, 2}};
    kinds[6] = (kind){MPI_FLOAT, MPI_DATATYPE_NULL, MPI_MAX, 4, {0, 4}};
    MPI_Type_create_struct(2, lengths, places, types, &gaps);
    MPI_Type_create_resized(gaps, -8, 32, &kinds[0].type);
    MPI_Type_free(&gaps);
    MPI_Type_commit(&kinds[0].type);
    MPI_Op_create(compose, 0, &kinds[0].op);
    for (int i = 0; i < 7; i++) {
        MPI_Type_contiguous(2, kinds[i].type, &kinds[i].twice);
        MPI_Type_commit(&kinds[i].twice);
    }
}

static void free_kinds(void)
{
    MPI_Type_free(&kinds[0].type);
    MPI_Op_free(&kinds[0].op);
    for (int i = 0; i < 7; i++)
        MPI_Type_free(&kinds[i].twice);
}

static void fill(buffers *all, int of)
{
    unsigned long long value = state + (unsigned long long)of * 0x9E3779B97F4A7C15ull;
    for (size_t i = 0; i < sizeof *all / 8; i++) {
        value = value * 6364136223846793005ull + 1442695040888963407ull;
        ((unsigned long long *)all)[i] = (value >> 33) % 1000;
    }
}

static unsigned char *sent(buffers *all) { return all->sent + START; }
static unsigned char *received(buffers *all) { return all->received + START; }

/* Copies the data of `count` elements, without the gaps. */
static void move(const kind *k, unsigned char *into, const unsigned char *from, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < 4 && k->pieces[j + 1]; j += 2)
            memcpy(into + i * k->extent + k->pieces[j], from + i * k->extent + k->pieces[j], (size_t)k->pieces[j + 1]);
}

/* Combines the vectors of ranks 0 .. last into `total`. */
static void fold(const kind *k, unsigned char *total, int last, int count, int in_place)
{
    static unsigned char right[SIZE];
    for (int i = 0; i <= last; i++) {
        memcpy(right, in_place ? of_rank[i]->received : of_rank[i]->sent, SIZE);
        if (i > 0 && count > 0)
            MPI_Reduce_local(total, right + START, count, k->type, k->op);
        memcpy(total - START, right, SIZE);
    }
}

static void compare(const char *what, int count, int k, int root, int in_place, int starts)
{
    if (memcmp(ours, expected, sizeof *ours) == 0)
        return;
    size_t at = 0;
    while (((char *)ours)[at] == ((char *)expected)[at])
        at++;
    if (failures++ < 5)
        printf("rank %d of %d: %s, %d elements of kind %d, root %d, in place %d, form %d: %s buffer, byte %d differs\n",
               rank, ranks, what, count, k, root, in_place, starts, at < SIZE ? "send" : "receive",
               (int)(at % SIZE) - START);
}

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* Starts a persistent call `times` times and waits for it; only the last start has the data of the buffers. */
static void run_persistent(MPI_Request *request, int times)
{
    memcpy(&given, ours, sizeof given);
    for (int i = 1; i <= times; i++) {
        if (i < times)
            fill(ours, world_rank + 100 * i);
        else
            memcpy(ours, &given, sizeof given);
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(request);
}

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define INIT(name, initial, ...) MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request)
#else
#define INIT(name, initial, ...) MPI_I##initial(__VA_ARGS__, comm, &request)
#define run_persistent(request, times) MPI_Wait(request, MPI_STATUS_IGNORE)
#endif

#define CALL(name, initial, ...)                                                                                       \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        if (starts == NONBLOCKING) {                                                                                   \
            MPI_I##initial(__VA_ARGS__, comm, &request);                                                               \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                     \
        } else if (starts == PERSISTENT) {                                                                             \
            INIT(name, initial, __VA_ARGS__);                                                                          \
            run_persistent(&request, times);                                                                           \
        } else                                                                                                         \
            MPI_##name(__VA_ARGS__, comm);                                                                             \
    } while (0)

/* Blocks of random lengths between all pairs of ranks, the same on all ranks. They lie one after the other, or in
 * rotated places with gaps. */
typedef struct {
    int counts[MOST_RANKS][MOST_RANKS]; /* from, to */
    int are_together[2], shift[2], most;
} exchange;

static void draw_exchange(exchange *x, int count, int most, int are_even, int are_symmetric)
{
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++) {
            int drawn = draw(3) ? (int)draw((unsigned)count + 1) : 0;
            x->counts[from][to] = are_symmetric && to < from ? x->counts[to][from] : drawn - (are_even ? drawn % 2 : 0);
        }
    for (int i = 0; i < 2; i++) {
        x->are_together[i] = (int)draw(2);
        x->shift[i] = (int)draw((unsigned)ranks);
    }
    x->most = most;
}

/* The place of the block from rank `of` to `other`, or of the block that `of` receives. */
static int place(const exchange *x, int of, int other, int is_received)
{
    int before = 0;
    for (int i = 0; i < other; i++)
        before += is_received ? x->counts[i][of] : x->counts[of][i];
    return x->are_together[is_received] ? before : (other + x->shift[is_received]) % ranks * x->most;
}

static void one_call(void)
{
    static const int counts[] = {0, 1, 2, 3, 7, 16, 33, 100, 257, MOST_COUNT};
    static unsigned char folded[SIZE];
    int which = (int)draw(17), number = (int)draw(7), starts = (int)draw(4) % FORMS, times = 1 + (int)draw(3), in_place = (int)draw(2), by_two = (int)draw(2);
    const kind *k = &kinds[number];
    int count = counts[draw(10)], most = (SIZE - 2 * START) / k->extent / ranks, root = (int)draw((unsigned)ranks);
    count = count < most ? count : most;
    count -= by_two ? count % 2 : 0;
    MPI_Datatype type = k->type, other = by_two ? k->twice : k->type;
    int others = by_two ? count / 2 : count, is_root = rank == root, block = count * k->extent;
    for (int i = 0; i < ranks; i++)
        fill(of_rank[i], worlds[i]);
    memcpy(ours, of_rank[rank], sizeof *ours);
    memcpy(expected, ours, sizeof *ours);
    unsigned char *s = sent(ours), *r = received(ours), *e = received(expected), *total = folded + START;
    switch (which) {
    case 0:
        CALL(Allreduce, allreduce, in_place ? MPI_IN_PLACE : s, r, count, type, k->op);
        fold(k, total, ranks - 1, count, in_place);
        move(k, e, total, count);
        return compare("allreduce", count, number, 0, in_place, starts);
    case 1:
        for (int i = 0; i < ranks && in_place; i++) /* only the root is in place */
            if (i == root)
                memcpy(of_rank[i]->sent, of_rank[i]->received, SIZE);
        CALL(Reduce, reduce, in_place && is_root ? MPI_IN_PLACE : s, is_root ? r : NULL, count, type, k->op, root);
        fold(k, total, ranks - 1, count, 0);
        if (is_root)
            move(k, e, total, count);
        return compare("reduce", count, number, root, in_place, starts);
    case 2:
        CALL(Bcast, bcast, s, is_root ? count : others, is_root ? type : other, root);
        move(k, sent(expected), sent(of_rank[root]), count);
        return compare("bcast", count, number, root, by_two, starts);
    case 3:
        CALL(Allgather, allgather, in_place ? MPI_IN_PLACE : s, count, type, r, others, other);
        for (int i = 0; i < ranks; i++)
            move(k, e + i * block, in_place ? received(of_rank[i]) + i * block : sent(of_rank[i]), count);
        return compare("allgather", count, number, 0, in_place, starts);
    case 4:
        CALL(Alltoall, alltoall, in_place ? MPI_IN_PLACE : s, count, type, r, others, other);
        for (int i = 0; i < ranks; i++)
            move(k, e + i * block, (in_place ? received(of_rank[i]) : sent(of_rank[i])) + rank * block, count);
        return compare("alltoall", count, number, 0, in_place, starts);
    case 5:
        CALL(Gather, gather, in_place && is_root ? MPI_IN_PLACE : s, count, type, is_root ? r : NULL, others, other, root);
        for (int i = 0; i < ranks && is_root; i++)
            if (i != root || !in_place)
                move(k, e + i * block, sent(of_rank[i]), count);
        return compare("gather", count, number, root, in_place, starts);
    case 6:
        CALL(Scatter, scatter, is_root ? s : NULL, others, other, in_place && is_root ? MPI_IN_PLACE : r, count, type, root);
        if (!in_place || !is_root)
            move(k, e, sent(of_rank[root]) + rank * block, count);
        return compare("scatter", count, number, root, in_place, starts);
    case 7:
        CALL(Reduce_scatter_block, reduce_scatter_block, in_place ? MPI_IN_PLACE : s, r, count, type, k->op);
        fold(k, total, ranks - 1, count * ranks, in_place);
        move(k, e, total + rank * block, count);
        if (in_place) /* the buffer may hold anything outside its block */
            move(k, r + block, e + block, count * (ranks - 1));
        return compare("reduce_scatter_block", count, number, 0, in_place, starts);
    case 8: {
        int each[MOST_RANKS], sum = 0, before = 0;
        for (int i = 0; i < ranks; i++) {
            each[i] = count ? (int)draw((unsigned)count) : 0;
            before += i < rank ? each[i] : 0;
            sum += each[i];
        }
        CALL(Reduce_scatter, reduce_scatter, s, r, each, type, k->op);
        fold(k, total, ranks - 1, sum, 0);
        move(k, e, total + before * k->extent, each[rank]);
        return compare("reduce_scatter", sum, number, 0, 0, starts);
    }
    case 9:
        CALL(Scan, scan, in_place ? MPI_IN_PLACE : s, r, count, type, k->op);
        fold(k, total, rank, count, in_place);
        move(k, e, total, count);
        return compare("scan", count, number, 0, in_place, starts);
    case 10:
        CALL(Exscan, exscan, in_place ? MPI_IN_PLACE : s, r, count, type, k->op);
        fold(k, total, rank - 1, count, in_place);
        if (rank > 0)
            move(k, e, total, count);
        return compare("exscan", count, number, 0, in_place, starts);
    case 11: {
        exchange x;
        int each[MOST_RANKS], places[MOST_RANKS];
        draw_exchange(&x, count, most, 0, 0);
        for (int i = 0; i < ranks; i++) {
            memcpy(x.counts[i], x.counts[0], sizeof each);
            each[i] = x.counts[0][i];
        }
        for (int i = 0; i < ranks; i++)
            places[i] = place(&x, 0, i, 0);
        CALL(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : s, each[rank], type, r, each, places, type);
        for (int i = 0; i < ranks; i++)
            move(k, e + places[i] * k->extent, in_place ? received(of_rank[i]) + places[i] * k->extent : sent(of_rank[i]), each[i]);
        return compare("allgatherv", count, number, 0, in_place, starts);
    }
    case 14:
    case 15: {
        exchange x;
        int each[MOST_RANKS], places[MOST_RANKS];
        draw_exchange(&x, count, most, by_two, 0);
        for (int i = 0; i < ranks; i++) {
            each[i] = x.counts[root][i];
            places[i] = place(&x, root, i, 0);
        }
        int own = each[rank] / (by_two ? 2 : 1);
        if (which == 15) {
            CALL(Scatterv, scatterv, is_root ? s : NULL, each, places, type, in_place && is_root ? MPI_IN_PLACE : r, own, other, root);
            if (!in_place || !is_root)
                move(k, e, sent(of_rank[root]) + places[rank] * k->extent, each[rank]);
            return compare("scatterv", count, number, root, in_place, starts);
        }
        CALL(Gatherv, gatherv, in_place && is_root ? MPI_IN_PLACE : s, own, other, is_root ? r : NULL, each, places, type, root);
        for (int i = 0; i < ranks && is_root; i++)
            if (i != root || !in_place)
                move(k, e + places[i] * k->extent, sent(of_rank[i]), each[i]);
        return compare("gatherv", count, number, root, in_place, starts);
    }
    case 12:
    case 13: {
        exchange x;
        int is_w = which == 13, halves = is_w && by_two, step = is_w ? k->extent : 1;
        int to[MOST_RANKS], from[MOST_RANKS], places_to[MOST_RANKS], places_from[MOST_RANKS];
        MPI_Datatype types_to[MOST_RANKS], types_from[MOST_RANKS];
        draw_exchange(&x, count, most, halves, in_place);
        for (int i = 0; i < ranks; i++) {
            to[i] = x.counts[rank][i];
            from[i] = x.counts[i][rank] / (halves ? 2 : 1);
            places_to[i] = place(&x, rank, i, 0) * step;
            places_from[i] = place(&x, rank, i, 1) * step;
            types_to[i] = type;
            types_from[i] = halves ? k->twice : type;
        }
        if (is_w)
            CALL(Alltoallw, alltoallw, in_place ? MPI_IN_PLACE : s, to, places_to, types_to, r, from, places_from, types_from);
        else
            CALL(Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : s, to, places_to, type, r, from, places_from, type);
        for (int i = 0; i < ranks; i++) {
            unsigned char *source = in_place ? received(of_rank[i]) : sent(of_rank[i]);
            move(k, e + place(&x, rank, i, 1) * k->extent, source + place(&x, i, rank, in_place) * k->extent, x.counts[i][rank]);
        }
        return compare(is_w ? "alltoallw" : "alltoallv", count, number, 0, in_place, starts);
    }
    default:
        MPI_Barrier(comm);
    }
}

static void use(MPI_Comm used)
{
    MPI_Group group, world;
    int all[MOST_RANKS];
    comm = used;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < ranks; i++)
        all[i] = i;
    MPI_Group_translate_ranks(group, ranks, all, world, worlds);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 1000, size, all;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ours = malloc(sizeof *ours), expected = malloc(sizeof *ours);
    for (int i = 0; i < size; i++)
        of_rank[i] = malloc(sizeof *ours);
    make_kinds();
    MPI_Comm comms[4] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_SELF};
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - world_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 2 * world_rank < size, 0, &comms[2]);
    for (int i = 0; i < calls; i++) {
        unsigned long long common = state;
        use(comms[draw(4)]);
        one_call();
        state = common * 2862933555777941757ull + 3037000493ull;
    }
    PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("%d calls on %d ranks: %d wrong\n", calls, size, all);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    free_kinds();
    MPI_Finalize();
    return all != 0;
}
