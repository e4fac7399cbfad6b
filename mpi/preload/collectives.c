/* The MPI functions of collectives. Each describes its call, and runs it or leaves it to MPI. */
#include "arguments.h"
#include "shim/left.h"
#include "shim/shim.h"

#include <stddef.h>
#include <string.h>

/* Descriptions */

static const struct view no_view = {NULL, 0, MPI_DATATYPE_NULL, 0};

/* Sets field by field, which is faster than clearing all. */
static void begin(struct call *call, const char *function, MPI_Comm comm, hocket_collective collective, enum form form)
{
    call->function = function;
    call->comm = comm;
    call->form = form;
    call->asked = (hocket_call){.collective = collective, .is_nonblocking = form != BLOCKING};
    call->op = MPI_OP_NULL;
    call->input = call->result = no_view;
    call->input_pieces.counts = call->result_pieces.counts = NULL;
    call->is_uneven = call->is_refused = call->is_absent = 0;
    call->reason = call->wrong = NULL;
    call->code = MPI_SUCCESS;
}

static MPI_Count size_of(MPI_Datatype type)
{
    MPI_Count size;
    PMPI_Type_size_x(type, &size);
    return size;
}

static size_t bytes_of(struct view view)
{
    return view.type == MPI_DATATYPE_NULL ? 0 : view.count * (size_t)size_of(view.type);
}

/* The number of elements, 0 if count or type is invalid. */
static size_t elements(MPI_Count count, MPI_Datatype type)
{
    return count > 0 && type != MPI_DATATYPE_NULL ? (size_t)count : 0;
}

/* A view of `bytes` bytes of the library's own memory. */
static struct view missing(size_t bytes)
{
    return (struct view){NULL, bytes, MPI_BYTE, 1};
}

/* The class of the error that MPI returns for an invalid buffer. */
static int error_of_buffer(const struct call *call, const void *address)
{
#ifdef OPEN_MPI
    return address == MPI_IN_PLACE && call->asked.collective != HOCKET_ALLREDUCE ? MPI_ERR_ARG : MPI_ERR_BUFFER;
#else
    (void)call, (void)address;
    return MPI_ERR_BUFFER;
#endif
}

/* Checks elements of this rank in a buffer that begins at `base`, and returns the view that the algorithm works on. All
 * checks of a rank's own arguments are here. A refused rank still takes part, since the call may be valid on other
 * ranks. Zero elements may have any address and type. */
static struct view check_view(struct call *call, const void *base, struct view view)
{
    MPI_Count count = (MPI_Count)view.count;
    if (count == 0)
        return (struct view){view.address, 0, MPI_BYTE, 0};
    int error = shim_error_of(count, view.type, call->op);
    if (error != MPI_SUCCESS) {
        shim_refuse(call, "invalid count, type or operator", error);
        return missing(count > 0 ? bytes_of(view) : 0);
    }
    if (base == MPI_IN_PLACE)
        shim_refuse(call, "MPI_IN_PLACE is not allowed here", error_of_buffer(call, base));
    else if (!shim_is_memory(view.address, view.type))
        shim_refuse(call, "no buffer", error_of_buffer(call, base));
    else
        return view;
    return missing(bytes_of(view));
}

static struct view check_buffer(struct call *call, const void *address, MPI_Count count, MPI_Datatype type)
{
    return check_view(call, address, (struct view){(void *)address, (size_t)count, type, 0});
}

/* Sets rank, ranks and root. A rank with an invalid root uses another rank as root. Returns 0 if all calls of the
 * communicator are left to MPI. */
static int has_root(struct call *call, int root, int *rank, int *ranks)
{
    if (!shim_place(call->comm, rank, ranks))
        return 0;
    call->asked.root = root;
    if (root < 0 || root >= *ranks) {
        shim_refuse(call, "invalid root", MPI_ERR_ROOT);
        call->is_absent = 1;
        call->asked.root = *rank == 0 && *ranks > 1;
    }
    return 1;
}

/* The error of MPI for the same buffer as input and result. Open MPI runs some of these calls in place. */
static int error_of_one_buffer(hocket_collective collective, MPI_Count count)
{
#ifdef OPEN_MPI
    if (collective == HOCKET_ALLREDUCE && count > 1)
        return MPI_ERR_BUFFER;
    return collective == HOCKET_REDUCE ? MPI_ERR_ARG : MPI_SUCCESS;
#else
    (void)collective, (void)count;
    return MPI_ERR_BUFFER;
#endif
}

/* Describes a reduction of `total` elements; this rank gets `own` of them. If MPI refuses its call, the rank sends and
 * receives elements of the right size, but reduces none. */
static void reduction(struct call *call, const void *send, void *recv, MPI_Count total, MPI_Count own,
                      MPI_Datatype type, MPI_Op op)
{
    int in_place = send == MPI_IN_PLACE;
    call->op = op;
    if (op == MPI_OP_NULL)
        shim_refuse(call, "no operator", MPI_ERR_OP);
    if (!in_place)
        check_buffer(call, send, total, type);
    if (send == recv && own && !call->is_refused) {
        call->wrong = "the same buffer as input and result";
        call->code = error_of_one_buffer(call->asked.collective, total);
        in_place = 1;
    }
    check_buffer(call, recv, in_place ? total : own, type);
    call->asked.in_place = in_place;
    if (call->is_refused || type == MPI_DATATYPE_NULL) {
        MPI_Count bytes = type == MPI_DATATYPE_NULL ? 1 : size_of(type);
        call->op = op == MPI_OP_NULL ? MPI_SUM : op;
        call->asked.element_bytes = bytes > 0 ? (size_t)bytes : 1;
        call->input = call->result = missing(elements(total, type));
        return;
    }
    call->input = (struct view){in_place ? NULL : (void *)send, (size_t)total, type, 0};
    call->result = (struct view){recv, (size_t)total, type, 0};
}

static void allreduce(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    reduction(call, send, recv, count, count, type, op);
    call->asked.count = elements(count, type);
}

/* Rank 0 has no result. */
static void exscan(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int rank, ranks;
    if (has_root(call, 0, &rank, &ranks))
        reduction(call, send, recv, count, rank == 0 ? 0 : count, type, op);
    call->asked.count = elements(count, type);
}

static void reduce(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks))
        return;
    int is_root = rank == call->asked.root;
    if (send == MPI_IN_PLACE && !is_root)
        check_buffer(call, send, count, type);
    reduction(call, send, is_root ? recv : NULL, count, is_root ? count : 0, type, op);
    call->asked.in_place = call->asked.in_place && is_root;
    call->asked.count = elements(count, type);
}

static void reduce_scatter_block(struct call *call, const void *send, void *recv, MPI_Count count, MPI_Datatype type,
                                 MPI_Op op)
{
    int rank, ranks;
    if (!has_root(call, 0, &rank, &ranks))
        return;
    reduction(call, send, recv, count < 0 ? count : count * ranks, count, type, op);
    call->asked.count = elements(count, type);
}

/* `counts` are MPI_Counts if `are_large`, else ints. */
static void reduce_scatter(struct call *call, const void *send, void *recv, const void *counts, int are_large,
                           MPI_Datatype type, MPI_Op op)
{
    int rank, ranks;
    size_t *blocks = shim_counts(call);
    if (!has_root(call, 0, &rank, &ranks) || !blocks)
        return;
    if (!counts)
        shim_refuse(call, "no counts", MPI_ERR_ARG);
    MPI_Count total = 0;
    for (int i = 0; i < ranks; i++) {
        MPI_Count count = !counts ? 0 : are_large ? ((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
        if (count < 0)
            shim_refuse(call, "a negative count", MPI_ERR_COUNT);
        blocks[i] = elements(count, type);
        total += (MPI_Count)blocks[i];
    }
    call->asked.counts = blocks;
    reduction(call, send, recv, total, (MPI_Count)blocks[rank], type, op);
}

static void broadcast(struct call *call, void *buffer, MPI_Count count, MPI_Datatype type, int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks))
        return;
    call->result = check_buffer(call, buffer, count, type);
    call->asked.count = bytes_of(call->result);
}

/* This rank receives its own blocks in another length than sent: it moves them first; the rest runs in place. */
static void is_of_another_length(struct call *call, size_t sent, size_t received)
{
    if (!call->is_refused) {
        call->wrong = "the lengths of sent and received blocks differ";
        call->code = sent > received ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    }
    call->is_uneven = call->asked.in_place = 1;
}

/* Describes a collective that exchanges blocks. `all_input` and `all_result` are 1 if the view has the blocks of all
 * ranks. If input and result differ in block length, the view of all blocks decides. */
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
    if (!has_root(call, 0, &rank, &ranks))
        return;
    struct view result = check_buffer(call, recv, recv_count, recv_type);
    struct view input = call->asked.in_place ? no_view : check_buffer(call, send, send_count, send_type);
    blocks(call, ranks, input, call->asked.collective == HOCKET_ALLTOALL, result, 1);
}

static void gather(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                   MPI_Count recv_count, MPI_Datatype recv_type, int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks))
        return;
    int is_root = rank == call->asked.root;
    call->asked.in_place = is_root && send == MPI_IN_PLACE;
    struct view input = call->asked.in_place ? no_view : check_buffer(call, send, send_count, send_type);
    blocks(call, ranks, input, 0, is_root ? check_buffer(call, recv, recv_count, recv_type) : no_view, 1);
}

static void scatter(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                    MPI_Count recv_count, MPI_Datatype recv_type, int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks))
        return;
    int is_root = rank == call->asked.root;
    call->asked.in_place = is_root && recv == MPI_IN_PLACE;
    struct view result = call->asked.in_place ? no_view : check_buffer(call, recv, recv_count, recv_type);
    blocks(call, ranks, is_root ? check_buffer(call, send, send_count, send_type) : no_view, 1, result, 0);
}

/* A checked block of a buffer. MPI_BOTTOM (NULL) is allowed only if places are addresses. */
static struct view judged_piece(struct call *call, const struct pieces *pieces, void *address, int index)
{
    if (pieces->ranks && pieces->ranks[index] == HOCKET_NO_RANK)
        return no_view;
    struct view block = shim_piece(pieces, address, index);
    if (!pieces->places || (!address && !pieces->has_large_places))
        block.address = address;
    return check_view(call, address, block);
}

/* Describes the blocks of a buffer; sets `bytes` to their lengths. Blocks without a neighbour have no bytes. */
static void describe_blocks(struct call *call, int number, void *address, struct pieces pieces, size_t *bytes,
                            struct pieces *pieces_out, struct view *all)
{
    size_t total = 0;
    int is_missing = !pieces.counts || !pieces.places;
    if (!pieces.counts && number)
        shim_refuse(call, "no counts", MPI_ERR_ARG);
    pieces.number = number;
    for (int i = 0; i < number; i++) {
        struct view block = pieces.counts ? judged_piece(call, &pieces, address, i) : no_view;
        is_missing = is_missing || block.is_missing;
        total += bytes[i] = bytes_of(block);
    }
    if (!pieces.places && total)
        shim_refuse(call, "no places", MPI_ERR_ARG);
    if (is_missing)
        pieces.counts = NULL;
    if (!total)
        pieces.type = MPI_DATATYPE_NULL;
    *pieces_out = pieces;
    *all = is_missing ? missing(total) : (struct view){address, total, MPI_BYTE, 0};
}

/* Describes the block that this rank sends, and the blocks that it receives from all ranks. */
static void describe_gather(struct call *call, int ranks, int rank, const void *send, MPI_Count send_count,
                     MPI_Datatype send_type, void *recv, struct pieces received)
{
    size_t *bytes = shim_counts(call);
    if (!bytes)
        return;
    describe_blocks(call, ranks, recv, received, bytes, &call->result_pieces, &call->result);
    call->asked.counts = bytes;
    if (call->asked.in_place)
        return;
    call->input = check_buffer(call, send, send_count, send_type);
    if (bytes_of(call->input) != bytes[rank])
        is_of_another_length(call, bytes_of(call->input), bytes[rank]);
}

static void allgatherv(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                       struct pieces received)
{
    int rank, ranks;
    call->asked.in_place = send == MPI_IN_PLACE;
    if (has_root(call, 0, &rank, &ranks))
        describe_gather(call, ranks, rank, send, send_count, send_type, recv, received);
}

static void gatherv(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                    struct pieces received, int root)
{
    int rank, ranks;
    if (!has_root(call, root, &rank, &ranks))
        return;
    call->asked.in_place = rank == call->asked.root && send == MPI_IN_PLACE;
    if (rank == call->asked.root)
        describe_gather(call, ranks, rank, send, send_count, send_type, recv, received);
    else
        call->input = check_buffer(call, send, send_count, send_type);
    call->asked.count = bytes_of(call->input);
}

static void scatterv(struct call *call, const void *send, struct pieces sent, void *recv, MPI_Count recv_count,
                     MPI_Datatype recv_type, int root)
{
    int rank, ranks;
    size_t *bytes = shim_counts(call);
    if (!has_root(call, root, &rank, &ranks) || !bytes)
        return;
    int is_root = rank == call->asked.root;
    call->asked.in_place = is_root && recv == MPI_IN_PLACE;
    call->result = call->asked.in_place ? no_view : check_buffer(call, recv, recv_count, recv_type);
    call->asked.count = bytes_of(call->result);
    if (!is_root)
        return;
    describe_blocks(call, ranks, (void *)send, sent, bytes, &call->input_pieces, &call->input);
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
    describe_blocks(call, ranks, recv, received, from, &call->result_pieces, &call->result);
    call->asked.counts = to;
    call->asked.counts_from = from;
    if (call->asked.in_place) {
        memcpy(to, from, sizeof *from * (size_t)ranks);
        return;
    }
    describe_blocks(call, ranks, (void *)send, sent, to, &call->input_pieces, &call->input);
    if (to[rank] == from[rank])
        return;
    is_of_another_length(call, to[rank], from[rank]);
    call->asked.in_place = 0;
    call->input.count -= to[rank];
    call->result.count -= from[rank];
    to[rank] = from[rank] = 0;
}

/* Sets the neighbours of a call; returns NULL if the call is left to MPI. */
static struct neighbors *describe_neighbors(struct call *call)
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

/* A checked block for `number` neighbours: one for each, or the same. Without neighbours it has no elements. */
static struct view check_block(struct call *call, const int32_t *ranks, int number, const void *address,
                               MPI_Count count, MPI_Datatype type)
{
    int i = 0;
    while (i < number && ranks[i] == HOCKET_NO_RANK)
        i++;
    return check_buffer(call, address, i < number ? count : 0, type);
}

/* Describes blocks of one size. In neighbor_alltoall a rank sends one block per neighbour, else the same block to all.
 * Ranks that no path of edges joins may use other sizes. */
static void neighbor_blocks(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                            MPI_Count recv_count, MPI_Datatype recv_type)
{
    struct neighbors *neighbors = describe_neighbors(call);
    if (!neighbors)
        return;
    const hocket_neighbors *graph = &neighbors->graph;
    struct view input = check_block(call, graph->destinations, graph->sent, send, send_count, send_type);
    struct view result = check_block(call, graph->sources, graph->received, recv, recv_count, recv_type);
    for (int i = 0; i < graph->sent; i++)
        neighbors->to_bytes[i] = bytes_of(input);
    for (int i = 0; i < graph->received; i++)
        neighbors->from_bytes[i] = bytes_of(result);
    call->asked.is_uniform = neighbors->is_joined;
    call->asked.count = bytes_of(input);
    input.count *= call->asked.collective == HOCKET_NEIGHBOR_ALLTOALL ? (size_t)graph->sent : 1;
    result.count *= (size_t)graph->received;
    call->input = input;
    call->result = result;
}

static void neighbor_allgatherv(struct call *call, const void *send, MPI_Count send_count, MPI_Datatype send_type,
                                void *recv, struct pieces received)
{
    struct neighbors *neighbors = describe_neighbors(call);
    if (!neighbors)
        return;
    const hocket_neighbors *graph = &neighbors->graph;
    call->input = check_block(call, graph->destinations, graph->sent, send, send_count, send_type);
    call->asked.count = bytes_of(call->input);
    received.ranks = graph->sources;
    describe_blocks(call, graph->received, recv, received, neighbors->from_bytes, &call->result_pieces, &call->result);
}

static void neighbor_alltoallv(struct call *call, const void *send, struct pieces sent, void *recv,
                               struct pieces received)
{
    struct neighbors *neighbors = describe_neighbors(call);
    if (!neighbors)
        return;
    const hocket_neighbors *graph = &neighbors->graph;
    sent.ranks = graph->destinations;
    received.ranks = graph->sources;
    describe_blocks(call, graph->sent, (void *)send, sent, neighbors->to_bytes, &call->input_pieces, &call->input);
    describe_blocks(call, graph->received, recv, received, neighbors->from_bytes, &call->result_pieces, &call->result);
}

/* Functions */

static int wait_for(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? shim_wait(request, MPI_STATUS_IGNORE) : code;
}

/* Returns 1 if a blocking call left to MPI stays blocking: Open MPI 5.0.11 has wrong nonblocking neighbourhoods. */
static int keeps_form(const struct call *call)
{
    int has_defect = call->asked.collective == HOCKET_NEIGHBOR_ALLGATHER || call->asked.collective == HOCKET_NEIGHBOR_ALLTOALL;
    return has_defect || !shim_may_be_active(call->comm);
}

/* Defines MPI_<name><large>, MPI_I<initial><large> and MPI_<name>_init<large>. `bytes` may decide to leave a blocking
 * call to MPI without a description. Nonblocking calls must go on during a blocking call that is left to MPI: it runs
 * in its nonblocking form, or all ranks meet before it. All ranks decide alike, since MPI does not match the two forms. */
#define COLLECTIVE(name, initial, large, kind, list, bytes, description)                                               \
    static __attribute__((noinline)) int described_##initial##large(PARAMETERS list)                                   \
    {                                                                                                                  \
        struct call call;                                                                                              \
        begin(&call, "MPI_" #name #large, comm, kind, BLOCKING);                                                       \
        description;                                                                                                   \
        if (shim_run(&call))                                                                                           \
            return call.code;                                                                                          \
        if (keeps_form(&call)) {                                                                                       \
            shim_meet(comm);                                                                                           \
            return shim_left(&call, PMPI_##name##large(ARGUMENTS list));                                               \
        }                                                                                                              \
        MPI_Request request;                                                                                           \
        return shim_left(&call, wait_for(PMPI_I##initial##large(ARGUMENTS list, &request), &request));                 \
    }                                                                                                                  \
    int MPI_##name##large(PARAMETERS list)                                                                             \
    {                                                                                                                  \
        return is_left_at_once(comm, kind, bytes) ? PMPI_##name##large(ARGUMENTS list)                                 \
                                                  : described_##initial##large(ARGUMENTS list);                        \
    }                                                                                                                  \
    int MPI_I##initial##large(PARAMETERS list, MPI_Request *request)                                                   \
    {                                                                                                                  \
        struct call call;                                                                                              \
        if (are_all_left())                                                                                            \
            return PMPI_I##initial##large(ARGUMENTS list, request);                                                    \
        begin(&call, "MPI_I" #initial #large, comm, kind, NONBLOCKING);                                                \
        description;                                                                                                   \
        return shim_start(&call, request) ? call.code : PMPI_I##initial##large(ARGUMENTS list, request);               \
    }                                                                                                                  \
    PERSISTENT_COLLECTIVE(name, large, kind, list, description)

/* Defines MPI_<name>_init<large>. MPI's own may wait for other ranks. */
#ifdef HAS_PERSISTENT
#define PERSISTENT_COLLECTIVE(name, large, kind, list, description)                                                    \
    int MPI_##name##_init##large(PARAMETERS list, MPI_Info info, MPI_Request *request)                                 \
    {                                                                                                                  \
        struct call call;                                                                                              \
        if (are_all_left())                                                                                            \
            return PMPI_##name##_init##large(ARGUMENTS list, info, request);                                           \
        begin(&call, "MPI_" #name "_init" #large, comm, kind, PERSISTENT);                                             \
        description;                                                                                                   \
        if (shim_plan(&call, request))                                                                                 \
            return call.code;                                                                                          \
        shim_meet(comm);                                                                                               \
        return PMPI_##name##_init##large(ARGUMENTS list, info, request);                                               \
    }
#else
#define PERSISTENT_COLLECTIVE(name, large, kind, list, description)
#endif

/* The bytes of a vector; of a block that is sent or received, which the root knows as well; of any block. UNKNOWN where
 * blocks differ. */
#define VECTOR bytes_if_known(count, datatype)
#define SENT (sendbuf == MPI_IN_PLACE ? bytes_if_known(recvcount, recvtype) : bytes_if_known(sendcount, sendtype))
#define RECEIVED (recvbuf == MPI_IN_PLACE ? bytes_if_known(sendcount, sendtype) : bytes_if_known(recvcount, recvtype))
#define BLOCK bytes_if_known(recvcount, recvtype)
#define UNKNOWN -1

#define NEIGHBOR_ALLTOALLW                                                                                             \
    sendbuf, sendcounts, ADDRESSES(sdispls), sendtypes, recvbuf, recvcounts, ADDRESSES(rdispls), recvtypes, comm

#define COLLECTIVES(large)                                                                                             \
    COLLECTIVE(Allreduce, allreduce, large, HOCKET_ALLREDUCE, (ALLREDUCE), VECTOR, REDUCED(allreduce))                 \
    COLLECTIVE(Scan, scan, large, HOCKET_SCAN, (ALLREDUCE), VECTOR, REDUCED(allreduce))                                \
    COLLECTIVE(Exscan, exscan, large, HOCKET_EXSCAN, (ALLREDUCE), VECTOR, REDUCED(exscan))                             \
    COLLECTIVE(Reduce, reduce, large, HOCKET_REDUCE, (REDUCE), VECTOR,                                                 \
               reduce(&call, sendbuf, recvbuf, count, datatype, op, root))                                             \
    COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, large, HOCKET_REDUCE_SCATTER, (ALLREDUCE), VECTOR,          \
               REDUCED(reduce_scatter_block))                                                                          \
    COLLECTIVE(Reduce_scatter, reduce_scatter, large, HOCKET_REDUCE_SCATTER, (REDUCE_SCATTER), UNKNOWN,                \
               reduce_scatter(&call, sendbuf, recvbuf, recvcounts, sizeof *recvcounts != sizeof(int), datatype, op))   \
    COLLECTIVE(Bcast, bcast, large, HOCKET_BROADCAST, (BCAST), VECTOR, broadcast(&call, buffer, count, datatype, root))\
    COLLECTIVE(Allgather, allgather, large, HOCKET_ALLGATHER, (ALLGATHER), BLOCK, MOVED(allgather))                    \
    COLLECTIVE(Alltoall, alltoall, large, HOCKET_ALLTOALL, (ALLGATHER), BLOCK, MOVED(allgather))                       \
    COLLECTIVE(Gather, gather, large, HOCKET_GATHER, (GATHER), SENT, MOVED(gather, root))                              \
    COLLECTIVE(Scatter, scatter, large, HOCKET_SCATTER, (GATHER), RECEIVED, MOVED(scatter, root))                      \
    COLLECTIVE(Allgatherv, allgatherv, large, HOCKET_ALLGATHER, (ALLGATHERV), UNKNOWN, GATHERED(allgatherv))           \
    COLLECTIVE(Gatherv, gatherv, large, HOCKET_GATHERV, (GATHERV), UNKNOWN, GATHERED(gatherv, root))                   \
    COLLECTIVE(Scatterv, scatterv, large, HOCKET_SCATTERV, (SCATTERV), UNKNOWN,                                        \
               scatterv(&call, sendbuf, BLOCKS(sendcounts, displs, sendtype), recvbuf, recvcount, recvtype, root))     \
    COLLECTIVE(Alltoallv, alltoallv, large, HOCKET_ALLTOALLV, (ALLTOALLV), UNKNOWN, EXCHANGED(alltoallv, BLOCKS, type))\
    COLLECTIVE(Alltoallw, alltoallw, large, HOCKET_ALLTOALLV, (ALLTOALLW), UNKNOWN,                                    \
               EXCHANGED(alltoallv, BLOCKS_OF_TYPES, types))                                                           \
    COLLECTIVE(Neighbor_allgather, neighbor_allgather, large, HOCKET_NEIGHBOR_ALLGATHER, (ALLGATHER), UNKNOWN,         \
               MOVED(neighbor_blocks))                                                                                 \
    COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, large, HOCKET_NEIGHBOR_ALLGATHER, (ALLGATHERV), UNKNOWN,      \
               GATHERED(neighbor_allgatherv))                                                                          \
    COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, large, HOCKET_NEIGHBOR_ALLTOALL, (ALLGATHER), UNKNOWN,            \
               MOVED(neighbor_blocks))                                                                                 \
    COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, large, HOCKET_NEIGHBOR_ALLTOALL, (ALLTOALLV), UNKNOWN,          \
               EXCHANGED(neighbor_alltoallv, BLOCKS, type))                                                            \
    COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, large, HOCKET_NEIGHBOR_ALLTOALL, (NEIGHBOR_ALLTOALLW), UNKNOWN, \
               EXCHANGED(neighbor_alltoallv, BLOCKS_AT_ADDRESSES, types))

/* Descriptions of calls with the same arguments. */
#define REDUCED(describe) describe(&call, sendbuf, recvbuf, count, datatype, op)
#define MOVED(describe, ...)                                                                                           \
    describe(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, ##__VA_ARGS__)
#define GATHERED(describe, ...)                                                                                        \
    describe(&call, sendbuf, sendcount, sendtype, recvbuf,                                                             \
             BLOCKS(recvcounts, displs, recvtype), ##__VA_ARGS__)
#define EXCHANGED(describe, blocks, types)                                                                             \
    describe(&call, sendbuf, blocks(sendcounts, sdispls, send##types), recvbuf,                                        \
             blocks(recvcounts, rdispls, recv##types))

#define ARE_LARGE (sizeof(COUNT) != sizeof(int))
#define BLOCKS(counts, places, type) ((struct pieces){counts, places, ARE_LARGE, ARE_LARGE, type, NULL, 0, NULL})
#define BLOCKS_OF_TYPES(counts, places, types)                                                                         \
    ((struct pieces){counts, places, ARE_LARGE, ARE_LARGE, MPI_DATATYPE_NULL, types, 0, NULL})
/* With small and with large counts. */
#define BLOCKS_AT_ADDRESSES(counts, places, types)                                                                     \
    ((struct pieces){counts, places, ARE_LARGE, 1, MPI_DATATYPE_NULL, types, 0, NULL})

#define COUNT int
#define PLACE int
COLLECTIVES()
COLLECTIVE(Barrier, barrier, , HOCKET_BARRIER, (comm), 0, (void)0)
#ifdef HAS_LARGE_COUNTS
#undef COUNT
#define COUNT MPI_Count
#undef PLACE
#define PLACE MPI_Aint
COLLECTIVES(_c)
#endif
