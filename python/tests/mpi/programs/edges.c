/* Edge cases of collectives: types without data, user-defined operators and types, attributes and error handlers,
 * intercommunicators. With an argument also communicators freed with calls under way, and calls in different orders on
 * different ranks. Prints "edges: right". */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_COUNT = 9 };

static int rank, ranks, failures;

static void expect(int is_right, const char *what)
{
    if (!is_right && failures++ < 5)
        printf("rank %d of %d: wrong: %s\n", rank, ranks, what);
}

#define WAITED(name, ...)                                                                                              \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        MPI_I##name(__VA_ARGS__, &request);                                                                            \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                         \
    } while (0)

/* Elements without bytes move nothing, and a broadcast needs no memory for them. */
static void nothing_of(MPI_Datatype type, MPI_Comm comm)
{
    char there[64], *at = there, *other = there + 32;
    memset(there, 7, sizeof there);
    MPI_Bcast(NULL, 3, type, 0, comm);
    MPI_Bcast(at, 3, type, 0, comm);
    MPI_Allgather(at, 2, type, other, 2, type, comm);
    MPI_Alltoall(at, 2, type, other, 2, type, comm);
    MPI_Gather(at, 2, type, other, 2, type, ranks - 1, comm);
    MPI_Scatter(at, 2, type, other, 2, type, ranks - 1, comm);
    WAITED(bcast, at, 3, type, 0, comm);
    WAITED(allgather, at, 2, type, other, 2, type, comm);
    WAITED(alltoall, at, 2, type, other, 2, type, comm);
    WAITED(gather, at, 2, type, other, 2, type, ranks - 1, comm);
    WAITED(scatter, at, 2, type, other, 2, type, ranks - 1, comm);
    for (size_t i = 0; i < sizeof there; i++)
        expect(there[i] == 7, "elements without bytes touch nothing");
}

static void no_data(MPI_Comm comm)
{
    MPI_Datatype none, wide;
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    MPI_Type_create_resized(none, 0, 4, &wide);
    MPI_Type_commit(&wide);
    nothing_of(none, comm);
    nothing_of(wide, comm);
    MPI_Type_free(&wide);
    MPI_Type_free(&none);
}

/* A 2 x 2 matrix with a gap: its product does not commute. */
struct matrix {
    int a, b;
    double gap;
    int c, d;
};

enum { PRIME = 10007 };

static void multiply(void *left_given, void *right_given, int *count, MPI_Datatype *type)
{
    struct matrix *left = left_given, *right = right_given;
    (void)type;
    for (int i = 0; i < *count; i++) {
        struct matrix l = left[i], r = right[i];
        right[i].a = (l.a * r.a + l.b * r.c) % PRIME;
        right[i].b = (l.a * r.b + l.b * r.d) % PRIME;
        right[i].c = (l.c * r.a + l.d * r.c) % PRIME;
        right[i].d = (l.c * r.b + l.d * r.d) % PRIME;
    }
}

static struct matrix matrix_of(int of, int index)
{
    return (struct matrix){of + 1, index + 2, -1.0, 3, of + index};
}

static struct matrix product(int of, int index)
{
    struct matrix left = matrix_of(0, index), right;
    int one = 1;
    for (int i = 1; i < of; i++) {
        right = matrix_of(i, index);
        multiply(&left, &right, &one, NULL);
        left = right;
    }
    return left;
}

static int are_equal(const struct matrix *got, int count, int of, int first)
{
    int are_equal = 1;
    for (int i = 0; i < count; i++) {
        struct matrix want = product(of, first + i);
        are_equal &= got[i].a == want.a && got[i].b == want.b && got[i].c == want.c && got[i].d == want.d;
        are_equal &= got[i].gap == -1.0;
    }
    return are_equal;
}

static void own_operator(MPI_Comm comm, MPI_Datatype type, MPI_Op op)
{
    struct matrix in[MOST_RANKS * MOST_COUNT], out[MOST_RANKS * MOST_COUNT];
    int counts[MOST_RANKS], first = 0, total = 0;
    for (int i = 0; i < ranks; total += counts[i++])
        counts[i] = i % 3, first = i == rank ? total : first;
    for (int i = 0; i < ranks * MOST_COUNT; i++)
        in[i] = matrix_of(rank, i), out[i] = (struct matrix){.gap = -1.0};
    MPI_Allreduce(in, out, MOST_COUNT, type, op, comm);
    expect(are_equal(out, MOST_COUNT, ranks, 0), "allreduce with an operator on matrices");
    WAITED(allreduce, in, out, MOST_COUNT, type, op, comm);
    expect(are_equal(out, MOST_COUNT, ranks, 0), "iallreduce with an operator on matrices");
    MPI_Reduce(in, out, MOST_COUNT, type, op, ranks - 1, comm);
    expect(rank < ranks - 1 || are_equal(out, MOST_COUNT, ranks, 0), "reduce with an operator on matrices");
    MPI_Scan(in, out, MOST_COUNT, type, op, comm);
    expect(are_equal(out, MOST_COUNT, rank + 1, 0), "scan with an operator on matrices");
    WAITED(scan, in, out, MOST_COUNT, type, op, comm);
    expect(are_equal(out, MOST_COUNT, rank + 1, 0), "iscan with an operator on matrices");
    MPI_Exscan(in, out, MOST_COUNT, type, op, comm);
    expect(rank == 0 || are_equal(out, MOST_COUNT, rank, 0), "exscan with an operator on matrices");
    WAITED(exscan, in, out, MOST_COUNT, type, op, comm);
    expect(rank == 0 || are_equal(out, MOST_COUNT, rank, 0), "iexscan with an operator on matrices");
    MPI_Reduce_scatter_block(in, out, MOST_COUNT, type, op, comm);
    expect(are_equal(out, MOST_COUNT, ranks, MOST_COUNT * rank), "reduce_scatter_block on matrices");
    MPI_Reduce_scatter(in, out, counts, type, op, comm);
    expect(are_equal(out, counts[rank], ranks, first), "reduce_scatter on matrices");
    WAITED(reduce_scatter, in, out, counts, type, op, comm);
    expect(are_equal(out, counts[rank], ranks, first), "ireduce_scatter on matrices");
}

static void own_operators(MPI_Comm comm)
{
    MPI_Datatype pair, type;
    MPI_Op op;
    int lengths[] = {2, 2};
    MPI_Aint places[] = {0, offsetof(struct matrix, c)};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_create_resized(pair, 0, sizeof(struct matrix), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    own_operator(comm, type, op);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
}

static int copies, deletions, told;

static int copied(MPI_Comm comm, int keyval, void *extra, void *value, void *into, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    copies++;
    *(void **)into = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    told++;
}

/* MPI calls attribute functions for the program's communicators only. A duplicate inherits the error handler. */
static void attributes_and_handlers(MPI_Comm comm)
{
    MPI_Comm first, second;
    MPI_Errhandler errhandler;
    int keyval, one = 1, sum = 0, found, *value;
    MPI_Comm_create_keyval(copied, deleted, &keyval, NULL);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_dup(comm, &first);
    MPI_Comm_set_attr(first, keyval, &one);
    MPI_Comm_set_errhandler(first, errhandler);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, first);
    WAITED(allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, first);
    MPI_Comm_dup(first, &second);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, second);
    MPI_Comm_get_attr(second, keyval, &value, &found);
    expect(copies == 1 && found && value == &one && sum == ranks, "an attribute is copied once");
    MPI_Bcast(&sum, -1, MPI_INT, 0, second);
    expect(told == 1, "the handler of a duplicate is told");
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    expect(deletions == 2, "attributes are deleted once for each communicator");
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free_keyval(&keyval);
}

/* Makes and frees communicators repeatedly while calls on them are under way. */
static void many(MPI_Comm comm)
{
    enum { AT_ONCE = 6, ROUNDS = 10 };
    int ones[AT_ONCE], sums[AT_ONCE];
    MPI_Request requests[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            MPI_Comm made;
            MPI_Comm_split(comm, round % 2 ? rank % 2 : 0, i % 2 ? rank : -rank, &made);
            ones[i] = round;
            MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, made, &requests[i]);
            MPI_Comm_free(&made);
        }
        MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
        int together = round % 2 ? ranks / 2 + (ranks % 2 && rank % 2 == 0) : ranks;
        for (int i = 0; i < AT_ONCE; i++)
            expect(sums[i] == round * together, "sums on communicators that are freed");
    }
}

/* Ranks order a blocking and a nonblocking call differently. MPI need not support this; MPICH does. */
static void crossed(MPI_Comm comm)
{
    int one = 1, two = 2, started = 0, sum = 0;
    MPI_Request request;
    if (rank % 2)
        MPI_Iallreduce(&one, &started, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Allreduce(&two, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (rank % 2 == 0)
        MPI_Iallreduce(&one, &started, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == 2 * ranks && started == ranks, "sums in another order on other ranks");
}

static int sum_over(int parity)
{
    int sum = 0;
    for (int i = parity; i < ranks; i += 2)
        sum += i;
    return sum;
}

static void two_groups(MPI_Comm comm)
{
    MPI_Comm half, between;
    int mine, others, sum = -1, got = -1, all[MOST_RANKS] = {0};
    if (ranks < 2)
        return;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 5, &between);
    MPI_Comm_size(between, &mine);
    MPI_Comm_remote_size(between, &others);
    MPI_Barrier(between);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);
    expect(sum == sum_over(1 - rank % 2), "allreduce of two groups");
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, between);
    expect(all[others - 1] == 2 * (others - 1) + 1 - rank % 2, "allgather of two groups");
    int root = rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, given = 41;
    MPI_Bcast(root == MPI_ROOT ? &given : &got, 1, MPI_INT, root, between);
    expect(rank % 2 == 0 || got == 41, "broadcast of two groups");
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, between);
    expect(rank || sum == sum_over(1), "reduce of two groups");
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, between);
    expect(rank || all[others - 1] == 2 * others - 1, "gather of two groups");
    MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, root, between);
    expect(rank % 2 == 0 || got == rank, "scatter of two groups");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    no_data(comm);
    own_operators(comm);
    attributes_and_handlers(comm);
    two_groups(comm);
    if (argc > 1) {
        many(comm);
        crossed(comm);
    }
    MPI_Comm_free(&comm);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("edges: %s\n", failures ? "wrong" : "right");
    MPI_Finalize();
    return failures != 0;
}
