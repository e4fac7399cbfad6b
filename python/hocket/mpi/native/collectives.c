/* The collectives that a program calls. Each function describes its call, and runs it or leaves it to MPI. */
#include "shim/left.h"
#include "shim/shim.h"

#include <stddef.h>
#include <string.h>

/* Descriptions */

static const struct view no_view = {NULL, 0, MPI_DATATYPE_NULL};

/* Field by field, which takes less time than to clear the whole. */
static void begin(struct call *call, const char *function, MPI_Comm comm, hocket_collective collective, enum form form)
{
    call->function = function;
    call->comm = comm;
    call->form = form;
    call->asked = (hocket_call){.collective = collective, .is_nonblocking = form != BLOCKING};
    call->op = MPI_OP_NULL;
    call->input = call->result = no_view;
    call->input_pieces.counts = call->result_pieces.counts = NULL;
    call->is_uneven = call->is_refused = 0;
    call->reason = call->wrong = NULL;
    call->code = MPI_SUCCESS;
}

/* Leaves a call to MPI, which refuses it at once with an error of its own. */
static void refuse(struct call *call, const char *reason)
{
    call->reason = reason;
    call->is_refused = 1;
}

/* Returns 1 if MPI accepts a buffer, and the operator for it, if any. If it does not, the call is left to MPI, which reports
 * the error. */
static int is_buffer(struct call *call, const void *address, MPI_Count count, MPI_Datatype type)
{
    if (!shim_takes(count, type, call->op))
        refuse(call, "no such count, type or operator");
    else
        call->reason = shim_objection(address, count, type);
    return !call->reason;
}

static MPI_Count size_of(MPI_Datatype type)
{
    MPI_Count size;
    PMPI_Type_size_x(type, &size);
    return size;
}

static int has_root(struct call *call, int root, int *rank, int *ranks)
{
    if (!shim_place(call->comm, rank, ranks))
        call->reason = "not a group of processes";
    else if (root < 0 || root >= *ranks)
        refuse(call, "no such root");
    call->asked.root = root;
    return !call->reason;
}

/* The error that MPI returns where one buffer is input and result; Open MPI runs some of these calls in place. */
static int error_of_one_buffer(hocket_collective collective)
{
#ifdef OPEN_MPI
    return collective == HOCKET_ALLREDUCE ? MPI_ERR_BUFFER : collective == HOCKET_REDUCE ? MPI_ERR_ARG : MPI_SUCCESS;
#else
    (void)collective;
    return MPI_ERR_BUFFER;
#endif
}

/* Describes a reduction of `total` elements, of which this rank gets `own`. */
static void reduction(struct call *call, const void *send, void *recv, MPI_Count total, MPI_Count own,
                      MPI_Datatype type, MPI_Op op)
{
    call->op = op;
    call->asked.in_place = send == MPI_IN_PLACE;
    if (op == MPI_OP_NULL)
        refuse(call, "no operator");
    if (call->reason || !(call->asked.in_place || is_buffer(call, send, total, type)))
        return;
    if (send == recv && own) {
        call->wrong = "one buffer as input and result";
        call->code = error_of_one_buffer(call->asked.collective);
        call->asked.in_place = 1;
    }
    if (!is_buffer(call, recv, call->asked.in_place ? total : own, type))
        return;
    call->input = (struct view){call->asked.in_place ? NULL : (void *)send, (size_t)total, type};
    call->result = (struct view){recv, (size_t)total, type};
}

static void allreduce(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    reduction(call, send, recv, count, count, type, op);
    call->asked.count = (size_t)count;
}

/* The first rank has no result. */
static void exscan(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int rank, ranks;
    if (has_root(call, 0, &rank, &ranks))
        reduction(call, send, recv, count, rank == 0 ? 0 : count, type, op);
    call->asked.count = (size_t)count;
}

static void reduce(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks))
        return;
    if (rank == root)
        reduction(call, send, recv, count, count, type, op);
    else if (send == MPI_IN_PLACE)
        call->reason = "in place where there is no result";
    else
        reduction(call, send, NULL, count, 0, type, op);
    call->asked.count = (size_t)count;
}

static void reduce_scatter_block(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type,
                                 MPI_Op op)
{
    int rank, ranks;
    if (!has_root(call, 0, &rank, &ranks))
        return;
    reduction(call, send, recv, count < 0 ? count : count * ranks, count, type, op);
    call->asked.count = (size_t)count;
}

/* `counts` are ints, or, if they are large, MPI_Counts. */
static void reduce_scatter(struct call *call, const void *send, void *recv, const void *counts, int are_large,
                           MPI_Datatype type, MPI_Op op)
{
    int rank, ranks;
    if (!has_root(call, 0, &rank, &ranks))
        return;
    if (!counts)
        refuse(call, "no counts");
    size_t *blocks = shim_counts(call);
    MPI_Count total = 0;
    for (int i = 0; counts && blocks && i < ranks; i++) {
        MPI_Count count = are_large ? ((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
        if (count < 0)
            refuse(call, "a count below zero");
        blocks[i] = (size_t)count;
        total += count;
    }
    call->asked.counts = blocks;
    if (!call->reason)
        reduction(call, send, recv, total, blocks ? (MPI_Count)blocks[rank] : 0, type, op);
}

static void broadcast(struct call *call, void *buffer, MPI_Count count, MPI_Datatype type, int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks) || !is_buffer(call, buffer, count, type))
        return;
    call->result = (struct view){buffer, (size_t)count, type};
    call->asked.count = (size_t)(count * size_of(type));
}

static size_t bytes_of(struct view view)
{
    return view.type == MPI_DATATYPE_NULL ? 0 : view.count * (size_t)size_of(view.type);
}

/* A rank receives its own blocks in another length than it sends them: it moves them before, and the rest is as in place. */
static void is_of_another_length(struct call *call, size_t sent, size_t received)
{
    call->wrong = "blocks are received in another length than sent";
    call->code = sent > received ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    call->is_uneven = call->asked.in_place = 1;
}

/* Describes a collective in which ranks send and receive blocks; `all_input` and `all_result` are 1 if the view holds the
 * blocks of all ranks. If a rank has both views, and their blocks are not equally long, the one of all blocks counts. */
static void blocks(struct call *call, int ranks, struct view input, int all_input, struct view result, int all_result)
{
    int has_input = input.type != MPI_DATATYPE_NULL, has_result = result.type != MPI_DATATYPE_NULL;
    call->asked.count = bytes_of(has_result && (all_result || !has_input) ? result : input);
    if (has_input && has_result && bytes_of(input) != bytes_of(result))
        is_of_another_length(call, bytes_of(input), bytes_of(result));
    input.count *= all_input ? (size_t)ranks : 1;
    result.count *= all_result ? (size_t)ranks : 1;
    call->input = input;
    call->result = result;
}

static void allgather(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                      MPI_Count recv_count, MPI_Datatype recv_type)
{
    int rank, ranks;
    call->asked.in_place = send == MPI_IN_PLACE;
    if (!has_root(call, 0, &rank, &ranks) || !is_buffer(call, recv, recv_count, recv_type) ||
        !(call->asked.in_place || is_buffer(call, send, send_count, send_type)))
        return;
    struct view input = {(void *)send, (size_t)send_count, send_type};
    blocks(call, ranks, call->asked.in_place ? no_view : input, call->asked.collective == HOCKET_ALLTOALL,
           (struct view){recv, (size_t)recv_count, recv_type}, 1);
}

static void gather(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                   MPI_Count recv_count, MPI_Datatype recv_type, int root)
{
    int rank, ranks;
    call->asked.in_place = send == MPI_IN_PLACE;
    if (!has_root(call, root, &rank, &ranks) ||
        !(call->asked.in_place || is_buffer(call, send, send_count, send_type)) ||
        !(rank != root || is_buffer(call, recv, recv_count, recv_type)))
        return;
    struct view input = {(void *)send, (size_t)send_count, send_type};
    struct view result = {recv, (size_t)recv_count, recv_type};
    if (call->asked.in_place && rank != root)
        call->reason = "in place where there is no result";
    else
        blocks(call, ranks, call->asked.in_place ? no_view : input, 0, rank == root ? result : no_view, 1);
}

static void scatter(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                    MPI_Count recv_count, MPI_Datatype recv_type, int root)
{
    int rank, ranks;
    call->asked.in_place = recv == MPI_IN_PLACE;
    if (!has_root(call, root, &rank, &ranks) ||
        !(call->asked.in_place || is_buffer(call, recv, recv_count, recv_type)) ||
        !(rank != root || is_buffer(call, send, send_count, send_type)))
        return;
    struct view input = {(void *)send, (size_t)send_count, send_type};
    struct view result = {recv, (size_t)recv_count, recv_type};
    if (call->asked.in_place && rank != root)
        call->reason = "in place where there is no input";
    else
        blocks(call, ranks, rank == root ? input : no_view, 1, call->asked.in_place ? no_view : result, 0);
}

/* Describes the blocks of a buffer; `bytes` gets the length of each. Returns 0 if MPI does not accept them. */
static int are_blocks(struct call *call, int number, void *address, struct pieces pieces, size_t *bytes,
                      struct pieces *kept, struct view *all)
{
    size_t total = 0;
    if (!pieces.counts || !pieces.places)
        refuse(call, "no counts or places");
    pieces.number = number;
    for (int i = 0; !call->reason && i < number; i++) {
        struct view block = shim_piece(&pieces, address, i);
        /* A count below zero is no number of bytes. */
        if (is_buffer(call, address, (MPI_Count)block.count, block.type))
            total += bytes[i] = bytes_of(block);
    }
    *kept = pieces;
    *all = (struct view){address, total, MPI_BYTE};
    return !call->reason;
}

/* The same for the blocks of neighbours; those of no rank have no bytes. */
static int are_blocks_of(struct call *call, const int32_t *ranks, int number, void *address, struct pieces pieces,
                         size_t *bytes, struct pieces *kept, struct view *all)
{
    pieces.ranks = ranks;
    if (!are_blocks(call, number, address, pieces, bytes, kept, all))
        return 0;
    for (int i = 0; i < number; i++)
        if (ranks[i] == HOCKET_NO_RANK) {
            all->count -= bytes[i];
            bytes[i] = 0;
        }
    return 1;
}

/* Describes the block that a rank sends, and those that it receives from all. */
static void gathered(struct call *call, int ranks, int rank, const void *send, MPI_Count send_count,
                     MPI_Datatype send_type, void *recv, struct pieces received)
{
    size_t *bytes = shim_counts(call);
    if (!bytes || !are_blocks(call, ranks, recv, received, bytes, &call->result_pieces, &call->result) ||
        !(call->asked.in_place || is_buffer(call, send, send_count, send_type)))
        return;
    call->asked.counts = bytes;
    if (call->asked.in_place)
        return;
    call->input = (struct view){(void *)send, (size_t)send_count, send_type};
    if (bytes_of(call->input) != bytes[rank])
        is_of_another_length(call, bytes_of(call->input), bytes[rank]);
}

static void allgatherv(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                       struct pieces received)
{
    int rank, ranks;
    call->asked.in_place = send == MPI_IN_PLACE;
    if (has_root(call, 0, &rank, &ranks))
        gathered(call, ranks, rank, send, send_count, send_type, recv, received);
}

static void gatherv(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                    struct pieces received, int root)
{
    int rank, ranks;
    size_t *bytes = shim_counts(call);
    call->asked.in_place = send == MPI_IN_PLACE;
    if (!has_root(call, root, &rank, &ranks) || !bytes)
        return;
    if (call->asked.in_place && rank != root)
        call->reason = "in place where there is no result";
    else if (rank == root)
        gathered(call, ranks, rank, send, send_count, send_type, recv, received);
    else if (is_buffer(call, send, send_count, send_type))
        call->input = (struct view){(void *)send, (size_t)send_count, send_type};
    call->asked.count = bytes_of(call->input);
}

static void scatterv(struct call *call, const void *send, struct pieces sent, void *recv, MPI_Count recv_count,
                     MPI_Datatype recv_type, int root)
{
    int rank, ranks;
    size_t *bytes = shim_counts(call);
    call->asked.in_place = recv == MPI_IN_PLACE;
    if (!has_root(call, root, &rank, &ranks) || !bytes)
        return;
    if (call->asked.in_place && rank != root)
        call->reason = "in place where there is no input";
    else if (call->asked.in_place || is_buffer(call, recv, recv_count, recv_type))
        call->result = call->asked.in_place ? no_view : (struct view){recv, (size_t)recv_count, recv_type};
    call->asked.count = bytes_of(call->result);
    if (call->reason || rank != root ||
        !are_blocks(call, ranks, (void *)send, sent, bytes, &call->input_pieces, &call->input))
        return;
    call->asked.counts = bytes;
    if (!call->asked.in_place && bytes_of(call->result) != bytes[rank])
        is_of_another_length(call, bytes[rank], bytes_of(call->result));
}

static void alltoallv(struct call *call, const void *send, struct pieces sent, void *recv, struct pieces received)
{
    int rank, ranks;
    size_t *to = shim_counts(call);
    call->asked.in_place = send == MPI_IN_PLACE;
    if (!has_root(call, 0, &rank, &ranks) || !to)
        return;
    size_t *from = to + ranks;
    if (!are_blocks(call, ranks, recv, received, from, &call->result_pieces, &call->result))
        return;
    call->asked.counts = to;
    call->asked.counts_from = from;
    if (call->asked.in_place) {
        memcpy(to, from, sizeof *from * (size_t)ranks);
    } else if (are_blocks(call, ranks, (void *)send, sent, to, &call->input_pieces, &call->input) &&
               to[rank] != from[rank]) {
        is_of_another_length(call, to[rank], from[rank]);
        call->asked.in_place = 0;
        call->input.count -= to[rank];
        call->result.count -= from[rank];
        to[rank] = from[rank] = 0;
    }
}

/* Describes the neighbours of a call; NULL if it is left to MPI. */
static struct neighbors *described(struct call *call)
{
    int rank, ranks;
    if (!has_root(call, 0, &rank, &ranks))
        return NULL;
    struct neighbors *neighbors = shim_neighbors(call);
    if (!neighbors)
        return NULL;
    call->asked.neighbors = &neighbors->graph;
    call->asked.counts = neighbors->to_bytes;
    call->asked.counts_from = neighbors->from_bytes;
    return neighbors;
}

/* Blocks of one size; in neighbor_alltoall a rank sends one to each neighbour, else the same to all. */
static void neighbor_blocks(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                            MPI_Count recv_count, MPI_Datatype recv_type)
{
    struct neighbors *neighbors = described(call);
    if (!neighbors || !is_buffer(call, send, send_count, send_type) || !is_buffer(call, recv, recv_count, recv_type))
        return;
    struct view input = {(void *)send, (size_t)send_count, send_type}, result = {recv, (size_t)recv_count, recv_type};
    for (int i = 0; i < neighbors->graph.sent; i++)
        neighbors->to_bytes[i] = bytes_of(input);
    for (int i = 0; i < neighbors->graph.received; i++)
        neighbors->from_bytes[i] = bytes_of(result);
    call->asked.is_uniform = 1;
    call->asked.count = bytes_of(input);
    input.count *= call->asked.collective == HOCKET_NEIGHBOR_ALLTOALL ? (size_t)neighbors->graph.sent : 1;
    result.count *= (size_t)neighbors->graph.received;
    call->input = input;
    call->result = result;
}

static void neighbor_allgatherv(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type,
                                void *recv, struct pieces received)
{
    struct neighbors *neighbors = described(call);
    if (!neighbors || !is_buffer(call, send, send_count, send_type) ||
        !are_blocks_of(call, neighbors->graph.sources, neighbors->graph.received, recv, received, neighbors->from_bytes,
                       &call->result_pieces, &call->result))
        return;
    call->input = (struct view){(void *)send, (size_t)send_count, send_type};
    call->asked.count = bytes_of(call->input);
}

static void neighbor_alltoallv(struct call *call, const void *send, struct pieces sent, void *recv,
                               struct pieces received)
{
    struct neighbors *neighbors = described(call);
    if (neighbors && are_blocks_of(call, neighbors->graph.destinations, neighbors->graph.sent, (void *)send, sent,
                                   neighbors->to_bytes, &call->input_pieces, &call->input))
        are_blocks_of(call, neighbors->graph.sources, neighbors->graph.received, recv, received, neighbors->from_bytes,
                      &call->result_pieces, &call->result);
}

/* Functions */

static int wait_for(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? shim_wait(request, MPI_STATUS_IGNORE) : code;
}

/* MPI_<name><large>, MPI_I<initial><large> and MPI_<name>_init<large>: their parameters, the same as arguments, the bytes
 * for which a blocking call may be left to MPI without a description, and the description of the call.
 * Where nonblocking calls may be under way, a blocking call that is left to MPI must not stop them, so it is made in its
 * nonblocking form: on all ranks alike, since MPI does not match blocking calls with nonblocking ones. */
#define COLLECTIVE(name, initial, large, kind, parameters, arguments, bytes, description)                              \
    static __attribute__((noinline)) int described_##initial##large parameters(MPI_Comm comm)                          \
    {                                                                                                                  \
        struct call call;                                                                                              \
        begin(&call, "MPI_" #name #large, comm, kind, BLOCKING);                                                       \
        description;                                                                                                   \
        if (shim_run(&call))                                                                                           \
            return call.code;                                                                                          \
        MPI_Request request;                                                                                           \
        return shim_left(&call, !call.is_refused && shim_may_be_active(comm)                                           \
                                    ? wait_for(PMPI_I##initial##large arguments(comm COMMA & request), &request)       \
                                    : PMPI_##name##large arguments(comm));                                             \
    }                                                                                                                  \
    int MPI_##name##large parameters(MPI_Comm comm)                                                                    \
    {                                                                                                                  \
        return is_left_at_once(comm, kind, bytes) ? PMPI_##name##large arguments(comm)                                 \
                                                  : described_##initial##large arguments(comm);                        \
    }                                                                                                                  \
    int MPI_I##initial##large parameters(MPI_Comm comm COMMA MPI_Request * request)                                    \
    {                                                                                                                  \
        struct call call;                                                                                              \
        begin(&call, "MPI_I" #initial #large, comm, kind, NONBLOCKING);                                                \
        description;                                                                                                   \
        return shim_start(&call, request) ? call.code : PMPI_I##initial##large arguments(comm COMMA request);          \
    }                                                                                                                  \
    PERSISTENT_COLLECTIVE(name, large, kind, parameters, arguments, description)
#define COMMA ,

/* MPI_<name>_init<large>. MPI's own may wait for other ranks. */
#ifdef HAS_PERSISTENT
#define PERSISTENT_COLLECTIVE(name, large, kind, parameters, arguments, description)                                   \
    int MPI_##name##_init##large parameters(MPI_Comm comm COMMA MPI_Info info COMMA MPI_Request * request)             \
    {                                                                                                                  \
        struct call call;                                                                                              \
        begin(&call, "MPI_" #name "_init" #large, comm, kind, PERSISTENT);                                             \
        description;                                                                                                   \
        if (shim_plan(&call, request))                                                                                 \
            return call.code;                                                                                          \
        if (!call.is_refused)                                                                                          \
            shim_meet(comm);                                                                                           \
        return PMPI_##name##_init##large arguments(comm COMMA info COMMA request);                                     \
    }
#else
#define PERSISTENT_COLLECTIVE(name, large, kind, parameters, arguments, description)
#endif

/* The bytes of a vector, of a block that is sent or received, which also roots know, and of any block; where blocks differ,
 * unknown. */
#define VECTOR bytes_if_known(count, datatype)
#define SENT (sendbuf == MPI_IN_PLACE ? bytes_if_known(recvcount, recvtype) : bytes_if_known(sendcount, sendtype))
#define RECEIVED (recvbuf == MPI_IN_PLACE ? bytes_if_known(sendcount, sendtype) : bytes_if_known(recvcount, recvtype))
#define BLOCK bytes_if_known(recvcount, recvtype)
#define UNKNOWN -1

#define REDUCTION_ARGUMENTS(...) (sendbuf, recvbuf, count, datatype, op, __VA_ARGS__)
#define REDUCE_ARGUMENTS(...) (sendbuf, recvbuf, count, datatype, op, root, __VA_ARGS__)
#define REDUCE_SCATTER_ARGUMENTS(...) (sendbuf, recvbuf, recvcounts, datatype, op, __VA_ARGS__)
#define BROADCAST_ARGUMENTS(...) (buffer, count, datatype, root, __VA_ARGS__)
#define BLOCKS_ARGUMENTS(...) (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, __VA_ARGS__)
#define ROOTED_ARGUMENTS(...) (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, __VA_ARGS__)
#define BARRIER_ARGUMENTS(...) (__VA_ARGS__)
#define BARRIER_PARAMETERS(...) (__VA_ARGS__)

#define REDUCTION_PARAMETERS(...)                                                                                      \
    (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, __VA_ARGS__)
#define REDUCE_PARAMETERS(...)                                                                                         \
    (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, int root, __VA_ARGS__)
#define REDUCE_SCATTER_PARAMETERS(...)                                                                                 \
    (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype datatype, MPI_Op op, __VA_ARGS__)
#define BROADCAST_PARAMETERS(...) (void *buffer, COUNT count, MPI_Datatype datatype, int root, __VA_ARGS__)
#define BLOCKS_PARAMETERS(...)                                                                                         \
    (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,                      \
     MPI_Datatype recvtype, __VA_ARGS__)
#define ROOTED_PARAMETERS(...)                                                                                         \
    (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, COUNT recvcount,                      \
     MPI_Datatype recvtype, int root, __VA_ARGS__)

#define GATHERV_ARGUMENTS(...) (sendbuf, sendcount, sendtype, recvbuf, recvcounts, places, recvtype, root, __VA_ARGS__)
#define SCATTERV_ARGUMENTS(...) (sendbuf, sendcounts, places, sendtype, recvbuf, recvcount, recvtype, root, __VA_ARGS__)
#define ALLGATHERV_ARGUMENTS(...) (sendbuf, sendcount, sendtype, recvbuf, recvcounts, places, recvtype, __VA_ARGS__)
#define ALLTOALLV_ARGUMENTS(...)                                                                                       \
    (sendbuf, sendcounts, places, sendtypes, recvbuf, recvcounts, recvplaces, recvtypes, __VA_ARGS__)
#define ALLTOALLW_ARGUMENTS ALLTOALLV_ARGUMENTS
#define NEIGHBOR_ALLTOALLW_ARGUMENTS ALLTOALLV_ARGUMENTS

#define GATHERV_PARAMETERS(...)                                                                                        \
    (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],             \
     const PLACE places[], MPI_Datatype recvtype, int root, __VA_ARGS__)
#define SCATTERV_PARAMETERS(...)                                                                                       \
    (const void *sendbuf, const COUNT sendcounts[], const PLACE places[], MPI_Datatype sendtype, void *recvbuf,        \
     COUNT recvcount, MPI_Datatype recvtype, int root, __VA_ARGS__)
#define ALLGATHERV_PARAMETERS(...)                                                                                     \
    (const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, void *recvbuf, const COUNT recvcounts[],             \
     const PLACE places[], MPI_Datatype recvtype, __VA_ARGS__)
#define ALLTOALLV_PARAMETERS(...)                                                                                      \
    (const void *sendbuf, const COUNT sendcounts[], const PLACE places[], MPI_Datatype sendtypes, void *recvbuf,       \
     const COUNT recvcounts[], const PLACE recvplaces[], MPI_Datatype recvtypes, __VA_ARGS__)
#define ALLTOALLW_PARAMETERS(...)                                                                                      \
    (const void *sendbuf, const COUNT sendcounts[], const PLACE places[], const MPI_Datatype sendtypes[],              \
     void *recvbuf, const COUNT recvcounts[], const PLACE recvplaces[], const MPI_Datatype recvtypes[], __VA_ARGS__)
#define NEIGHBOR_ALLTOALLW_PARAMETERS(...)                                                                             \
    (const void *sendbuf, const COUNT sendcounts[], const MPI_Aint places[], const MPI_Datatype sendtypes[],           \
     void *recvbuf, const COUNT recvcounts[], const MPI_Aint recvplaces[], const MPI_Datatype recvtypes[], __VA_ARGS__)

#define COLLECTIVES(large)                                                                                             \
    COLLECTIVE(Allreduce, allreduce, large, HOCKET_ALLREDUCE, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS, VECTOR,       \
               allreduce(&call, sendbuf, recvbuf, count, datatype, op))                                                \
    COLLECTIVE(Scan, scan, large, HOCKET_SCAN, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS, VECTOR,                      \
               allreduce(&call, sendbuf, recvbuf, count, datatype, op))                                                \
    COLLECTIVE(Exscan, exscan, large, HOCKET_EXSCAN, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS, VECTOR,                \
               exscan(&call, sendbuf, recvbuf, count, datatype, op))                                                   \
    COLLECTIVE(Reduce, reduce, large, HOCKET_REDUCE, REDUCE_PARAMETERS, REDUCE_ARGUMENTS, VECTOR,                      \
               reduce(&call, sendbuf, recvbuf, count, datatype, op, root))                                             \
    COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, large, HOCKET_REDUCE_SCATTER, REDUCTION_PARAMETERS,         \
               REDUCTION_ARGUMENTS, VECTOR, reduce_scatter_block(&call, sendbuf, recvbuf, count, datatype, op))        \
    COLLECTIVE(Reduce_scatter, reduce_scatter, large, HOCKET_REDUCE_SCATTER, REDUCE_SCATTER_PARAMETERS,                \
               REDUCE_SCATTER_ARGUMENTS, UNKNOWN,                                                                      \
               reduce_scatter(&call, sendbuf, recvbuf, recvcounts, sizeof *recvcounts != sizeof(int), datatype, op))   \
    COLLECTIVE(Bcast, bcast, large, HOCKET_BROADCAST, BROADCAST_PARAMETERS, BROADCAST_ARGUMENTS, VECTOR,               \
               broadcast(&call, buffer, count, datatype, root))                                                        \
    COLLECTIVE(Allgather, allgather, large, HOCKET_ALLGATHER, BLOCKS_PARAMETERS, BLOCKS_ARGUMENTS, BLOCK,               \
               allgather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                           \
    COLLECTIVE(Alltoall, alltoall, large, HOCKET_ALLTOALL, BLOCKS_PARAMETERS, BLOCKS_ARGUMENTS, BLOCK,                  \
               allgather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                           \
    COLLECTIVE(Gather, gather, large, HOCKET_GATHER, ROOTED_PARAMETERS, ROOTED_ARGUMENTS, SENT,                        \
               gather(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))                        \
    COLLECTIVE(Scatter, scatter, large, HOCKET_SCATTER, ROOTED_PARAMETERS, ROOTED_ARGUMENTS, RECEIVED,                 \
               scatter(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))                       \
    COLLECTIVE(Allgatherv, allgatherv, large, HOCKET_ALLGATHER, ALLGATHERV_PARAMETERS, ALLGATHERV_ARGUMENTS, UNKNOWN,  \
               allgatherv(&call, sendbuf, sendcount, sendtype, recvbuf,                                                \
                          BLOCKS_OF_TYPE(recvcounts, places, recvtype)))                                               \
    COLLECTIVE(Gatherv, gatherv, large, HOCKET_GATHERV, GATHERV_PARAMETERS, GATHERV_ARGUMENTS, UNKNOWN,                \
               gatherv(&call, sendbuf, sendcount, sendtype, recvbuf,                                                   \
                       BLOCKS_OF_TYPE(recvcounts, places, recvtype), root))                                            \
    COLLECTIVE(Scatterv, scatterv, large, HOCKET_SCATTERV, SCATTERV_PARAMETERS, SCATTERV_ARGUMENTS, UNKNOWN,           \
               scatterv(&call, sendbuf, BLOCKS_OF_TYPE(sendcounts, places, sendtype), recvbuf,                         \
                        recvcount, recvtype, root))                                                                    \
    COLLECTIVE(Alltoallv, alltoallv, large, HOCKET_ALLTOALLV, ALLTOALLV_PARAMETERS, ALLTOALLV_ARGUMENTS, UNKNOWN,      \
               alltoallv(&call, sendbuf, BLOCKS_OF_TYPE(sendcounts, places, sendtypes), recvbuf,                       \
                         BLOCKS_OF_TYPE(recvcounts, recvplaces, recvtypes)))                                           \
    COLLECTIVE(Alltoallw, alltoallw, large, HOCKET_ALLTOALLV, ALLTOALLW_PARAMETERS, ALLTOALLW_ARGUMENTS, UNKNOWN,      \
               alltoallv(&call, sendbuf, BLOCKS_OF_TYPES(sendcounts, places, sendtypes), recvbuf,                      \
                         BLOCKS_OF_TYPES(recvcounts, recvplaces, recvtypes)))
#define ARE_LARGE (sizeof(COUNT) != sizeof(int))
#define BLOCKS_OF_TYPE(counts, places, type) ((struct pieces){counts, places, ARE_LARGE, ARE_LARGE, type, NULL, 0, NULL})
#define BLOCKS_OF_TYPES(counts, places, types)                                                                         \
    ((struct pieces){counts, places, ARE_LARGE, ARE_LARGE, MPI_DATATYPE_NULL, types, 0, NULL})
/* Their places are addresses in all forms. */
#define NEIGHBOR_BLOCKS(counts, places, types)                                                                         \
    ((struct pieces){counts, places, ARE_LARGE, 1, MPI_DATATYPE_NULL, types, 0, NULL})

#define NEIGHBORHOODS(large)                                                                                           \
    COLLECTIVE(Neighbor_allgather, neighbor_allgather, large, HOCKET_NEIGHBOR_ALLGATHER, BLOCKS_PARAMETERS,            \
               BLOCKS_ARGUMENTS, UNKNOWN,                                                                              \
               neighbor_blocks(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                     \
    COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, large, HOCKET_NEIGHBOR_ALLGATHER, ALLGATHERV_PARAMETERS,      \
               ALLGATHERV_ARGUMENTS, UNKNOWN,                                                                          \
               neighbor_allgatherv(&call, sendbuf, sendcount, sendtype, recvbuf,                                       \
                                   BLOCKS_OF_TYPE(recvcounts, places, recvtype)))                                      \
    COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, large, HOCKET_NEIGHBOR_ALLTOALL, BLOCKS_PARAMETERS,               \
               BLOCKS_ARGUMENTS, UNKNOWN,                                                                              \
               neighbor_blocks(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                     \
    COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, large, HOCKET_NEIGHBOR_ALLTOALL, ALLTOALLV_PARAMETERS,          \
               ALLTOALLV_ARGUMENTS, UNKNOWN,                                                                           \
               neighbor_alltoallv(&call, sendbuf, BLOCKS_OF_TYPE(sendcounts, places, sendtypes), recvbuf,              \
                                  BLOCKS_OF_TYPE(recvcounts, recvplaces, recvtypes)))                                  \
    COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, large, HOCKET_NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLW_PARAMETERS, \
               NEIGHBOR_ALLTOALLW_ARGUMENTS, UNKNOWN,                                                                  \
               neighbor_alltoallv(&call, sendbuf, NEIGHBOR_BLOCKS(sendcounts, places, sendtypes), recvbuf,             \
                                  NEIGHBOR_BLOCKS(recvcounts, recvplaces, recvtypes)))

#define COUNT int
#define PLACE int
COLLECTIVES()
NEIGHBORHOODS()
COLLECTIVE(Barrier, barrier, , HOCKET_BARRIER, BARRIER_PARAMETERS, BARRIER_ARGUMENTS, 0, (void)0)
#ifdef HAS_LARGE_COUNTS
#undef COUNT
#define COUNT MPI_Count
#undef PLACE
#define PLACE MPI_Aint
COLLECTIVES(_c)
NEIGHBORHOODS(_c)
#endif
