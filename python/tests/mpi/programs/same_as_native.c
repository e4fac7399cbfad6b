/* Calls of all collectives, drawn at random, the same on all ranks; each is made twice, by MPI_* and by PMPI_*, and both
 * must leave the same bytes everywhere. Arguments: number of calls, seed. Prints the number of differences.
 *
 * Types: int, double with a predefined operator; pairs; a type with gaps and a negative lower bound under an operator
 * that does not commute. Communicators: the world, backwards, halves, the process itself.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 19, MARGIN = 64 };
typedef struct { unsigned char sent[MOST_BYTES], received[MOST_BYTES]; } buffers;
static buffers *ours, *theirs, *start;
static unsigned long long state;
static int failures, rank, ranks, world_rank;
static MPI_Comm comm;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

/* An affine map x -> a x + b; maps do not commute. In memory: b at -8, a at 8; 32 bytes from one to the next. */
typedef struct { unsigned long long unused, a; } affine;

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        unsigned long long *f = (unsigned long long *)((char *)in + i * extent);
        unsigned long long *g = (unsigned long long *)((char *)inout + i * extent);
        g[-1] = f[-1] * g[1] + g[-1];
        g[1] = f[1] * g[1];
    }
}

typedef struct { MPI_Datatype type; MPI_Op op; int extent; } kind;
static kind kinds[6];

static void make_kinds(void)
{
    MPI_Datatype gaps;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {-8, 8};
    MPI_Datatype types[2] = {MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_LONG_LONG};
    MPI_Type_create_struct(2, lengths, places, types, &gaps);
    MPI_Type_create_resized(gaps, -8, 32, &kinds[0].type);
    MPI_Type_commit(&kinds[0].type);
    MPI_Op_create(compose, 0, &kinds[0].op);
    kinds[0].extent = 32;
    kinds[1] = (kind){MPI_INT, MPI_SUM, sizeof(int)};
    kinds[2] = (kind){MPI_UNSIGNED_CHAR, MPI_BXOR, 1};
    kinds[3] = (kind){MPI_DOUBLE_INT, MPI_MAXLOC, 16};
    kinds[4] = (kind){MPI_LONG_LONG, MPI_MIN, 8};
    kinds[5] = (kind){MPI_UNSIGNED_SHORT, MPI_PROD, 2};
}

static void fill(void)
{
    unsigned long long own = state + (unsigned long long)world_rank * 0x9E3779B97F4A7C15ull;
    for (size_t i = 0; i < sizeof(buffers) / 8; i++) {
        own = own * 6364136223846793005ull + 1442695040888963407ull;
        ((unsigned long long *)start)[i] = (own >> 33) % 1000;
    }
    memcpy(ours, start, sizeof *ours);
    memcpy(theirs, start, sizeof *theirs);
}

static void compare(const char *what, int count, int kind, int root, int in_place)
{
    if (memcmp(ours, theirs, sizeof *ours) == 0)
        return;
    size_t at = 0;
    while (((char *)ours)[at] == ((char *)theirs)[at])
        at++;
    if (failures++ < 5)
        printf("rank %d of %d: %s, %d elements of kind %d, root %d, in place %d: byte %zu differs\n", rank, ranks, what,
               count, kind, root, in_place, at);
}

static void *at(unsigned char *buffer) { return buffer + MARGIN; }

#define BOTH(call)                                                                                                     \
    do {                                                                                                               \
        buffers *b = ours;                                                                                             \
        MPI_##call;                                                                                                    \
        b = theirs;                                                                                                    \
        PMPI_##call;                                                                                                   \
    } while (0)
#define BOTH_STARTED(call)                                                                                             \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        buffers *b = ours;                                                                                             \
        MPI_##call;                                                                                                    \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                         \
        b = theirs;                                                                                                    \
        PMPI_##call;                                                                                                   \
        PMPI_Wait(&request, MPI_STATUS_IGNORE);                                                                        \
    } while (0)

static void one_call(void)
{
    int k = (int)draw(6), which = (int)draw(11), starts = draw(4) == 0, in_place = (int)draw(2);
    static const int counts[] = {0, 1, 2, 3, 7, 16, 33, 100, 257, 1000};
    int most = (MOST_BYTES - 2 * MARGIN) / 32 / ranks;
    int count = counts[draw(10)];
    count = count < most ? count : most;
    int root = (int)draw((unsigned)ranks);
    MPI_Datatype type = kinds[k].type;
    MPI_Op op = kinds[k].op;
    int is_root = rank == root;
    fill();
    switch (which) {
    case 0:
        if (starts)
            BOTH_STARTED(Iallreduce(in_place ? MPI_IN_PLACE : at(b->sent), at(b->received), count, type, op, comm, &request));
        else
            BOTH(Allreduce(in_place ? MPI_IN_PLACE : at(b->sent), at(b->received), count, type, op, comm));
        return compare("allreduce", count, k, 0, in_place);
    case 1:
        if (starts)
            BOTH_STARTED(Ireduce(in_place && is_root ? MPI_IN_PLACE : at(b->sent), is_root ? at(b->received) : NULL, count, type, op, root, comm, &request));
        else
            BOTH(Reduce(in_place && is_root ? MPI_IN_PLACE : at(b->sent), is_root ? at(b->received) : NULL, count, type, op, root, comm));
        return compare("reduce", count, k, root, in_place);
    case 2:
        if (starts)
            BOTH_STARTED(Ibcast(at(b->sent), count, type, root, comm, &request));
        else
            BOTH(Bcast(at(b->sent), count, type, root, comm));
        return compare("bcast", count, k, root, 0);
    case 3:
        if (starts)
            BOTH_STARTED(Iallgather(in_place ? MPI_IN_PLACE : at(b->sent), count, type, at(b->received), count, type, comm, &request));
        else
            BOTH(Allgather(in_place ? MPI_IN_PLACE : at(b->sent), count, type, at(b->received), count, type, comm));
        return compare("allgather", count, k, 0, in_place);
    case 4:
        if (starts)
            BOTH_STARTED(Ialltoall(in_place ? MPI_IN_PLACE : at(b->sent), count, type, at(b->received), count, type, comm, &request));
        else
            BOTH(Alltoall(in_place ? MPI_IN_PLACE : at(b->sent), count, type, at(b->received), count, type, comm));
        return compare("alltoall", count, k, 0, in_place);
    case 5:
        BOTH(Gather(in_place && is_root ? MPI_IN_PLACE : at(b->sent), count, type, is_root ? at(b->received) : NULL, count, type, root, comm));
        return compare("gather", count, k, root, in_place);
    case 6:
        BOTH(Scatter(is_root ? at(b->sent) : NULL, count, type, in_place && is_root ? MPI_IN_PLACE : at(b->received), count, type, root, comm));
        return compare("scatter", count, k, root, in_place);
    case 7:
        if (k == 0) /* MPICH 5.0.2's own writes beyond its memory for types with a negative lower bound */
            k = 1, type = kinds[1].type, op = kinds[1].op;
        BOTH(Reduce_scatter_block(in_place ? MPI_IN_PLACE : at(b->sent), at(b->received), count, type, op, comm));
        /* beyond its block, a buffer in place is nobody's business */
        if (in_place)
            memset((char *)at(ours->received) - 8 + count * kinds[k].extent, 0, MOST_BYTES - MARGIN - (size_t)count * (size_t)kinds[k].extent),
            memset((char *)at(theirs->received) - 8 + count * kinds[k].extent, 0, MOST_BYTES - MARGIN - (size_t)count * (size_t)kinds[k].extent);
        return compare("reduce_scatter_block", count, k, 0, in_place);
    case 8: {
        int *each = malloc(sizeof(int) * (size_t)ranks), total = 0;
        for (int i = 0; i < ranks; i++)
            total += each[i] = (int)draw((unsigned)(count < 100 ? count : 100) + 1);
        if (starts)
            BOTH_STARTED(Ireduce_scatter(at(b->sent), at(b->received), each, type, op, comm, &request));
        else
            BOTH(Reduce_scatter(at(b->sent), at(b->received), each, type, op, comm));
        free(each);
        return compare("reduce_scatter", total, k, 0, 0);
    }
    case 9:
        BOTH(Scan(in_place ? MPI_IN_PLACE : at(b->sent), at(b->received), count, type, op, comm));
        return compare("scan", count, k, 0, in_place);
    default:
        BOTH(Barrier(comm));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 1000, size, all;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    ours = malloc(sizeof *ours), theirs = malloc(sizeof *theirs), start = malloc(sizeof *start);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_kinds();
    MPI_Comm comms[4] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_SELF};
    PMPI_Comm_split(MPI_COMM_WORLD, 0, size - world_rank, &comms[1]);
    PMPI_Comm_split(MPI_COMM_WORLD, 2 * world_rank < size, 0, &comms[2]);
    for (int i = 0; i < calls; i++) {
        comm = comms[draw(4)];
        unsigned long long common = state;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        one_call();
        state = common * 2862933555777941757ull + 3037000493ull;
    }
    PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("%d calls on %d ranks: %d differences\n", calls, size, all);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    MPI_Type_free(&kinds[0].type);
    MPI_Op_free(&kinds[0].op);
    MPI_Finalize();
    return all != 0;
}
