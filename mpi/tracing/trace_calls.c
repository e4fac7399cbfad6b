/* The traced calls: each runs MPI's own function and writes a line. */
#include "library.h"
#include "trace.h"

/* Runs a call and writes `fields` to its line. */
#define TRACED(function, call, fields)                                                                                 \
    do {                                                                                                               \
        struct moment call_start = call_begins();                                                                      \
        int code = call;                                                                                               \
        if (call_ends(call_start, function, code)) {                                                                   \
            fields;                                                                                                    \
            line_ends();                                                                                               \
        }                                                                                                              \
        return code;                                                                                                   \
    } while (0)

/* Beginning and end */

int MPI_Init(int *argc, char ***argv)
{
    check_library();
    int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS)
        trace_begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    check_library();
    int code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS)
        trace_begin();
    return code;
}

int MPI_Finalize(void)
{
    trace_end();
    return PMPI_Finalize();
}

/* Messages */

static void message(MPI_Comm comm, int peer, int tag, MPI_Count count, MPI_Datatype type)
{
    comm_field(comm);
    peer_fields("", peer, tag);
    data_fields("", count, type);
}

static void receive(MPI_Comm comm, int from, int tag, MPI_Count count, MPI_Datatype type, const MPI_Status *status)
{
    message(comm, from, tag, count, type);
    got_field(status);
}

static void receive_part(int from, int tag, const MPI_Status *status)
{
    peer_fields("recv_", from, tag);
    got_field(status);
}

static const struct request_facts a_send = {0}, a_receive = {.is_receive = 1}, a_collective = {0};
static const struct request_facts a_persistent_send = {.is_persistent = 1};
static const struct request_facts a_persistent_receive = {.is_receive = 1, .is_persistent = 1};

/* The caller's status, or a local one if the caller ignores it. */
#define STATUS MPI_Status own_status, *seen = status == MPI_STATUS_IGNORE ? &own_status : status

#define SEND(name, large)                                                                                              \
    int MPI_##name##large(const void *data, COUNT count, MPI_Datatype type, int to, int tag, MPI_Comm comm)            \
    {                                                                                                                  \
        TRACED("MPI_" #name, PMPI_##name##large(data, count, type, to, tag, comm),                                     \
               message(comm, to, tag, count, type));                                                                   \
    }
#define STARTED_SEND(name, large, facts)                                                                               \
    int MPI_##name##large(const void *data, COUNT count, MPI_Datatype type, int to, int tag, MPI_Comm comm,            \
                          MPI_Request *request)                                                                        \
    {                                                                                                                  \
        TRACED("MPI_" #name, PMPI_##name##large(data, count, type, to, tag, comm, request),                            \
               (message(comm, to, tag, count, type), request_field(*request, facts)));                                 \
    }
#define STARTED_RECEIVE(name, large, facts)                                                                            \
    int MPI_##name##large(void *into, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm,                \
                          MPI_Request *request)                                                                        \
    {                                                                                                                  \
        TRACED("MPI_" #name, PMPI_##name##large(into, count, type, from, tag, comm, request),                          \
               (message(comm, from, tag, count, type), request_field(*request, facts)));                               \
    }

#define MESSAGES(large)                                                                                                \
    SEND(Send, large)                                                                                                  \
    SEND(Bsend, large)                                                                                                 \
    SEND(Ssend, large)                                                                                                 \
    SEND(Rsend, large)                                                                                                 \
    STARTED_SEND(Isend, large, a_send)                                                                                 \
    STARTED_SEND(Ibsend, large, a_send)                                                                                \
    STARTED_SEND(Issend, large, a_send)                                                                                \
    STARTED_SEND(Irsend, large, a_send)                                                                                \
    STARTED_SEND(Send_init, large, a_persistent_send)                                                                  \
    STARTED_SEND(Bsend_init, large, a_persistent_send)                                                                 \
    STARTED_SEND(Ssend_init, large, a_persistent_send)                                                                 \
    STARTED_SEND(Rsend_init, large, a_persistent_send)                                                                 \
    STARTED_RECEIVE(Irecv, large, a_receive)                                                                           \
    STARTED_RECEIVE(Recv_init, large, a_persistent_receive)                                                            \
    int MPI_Recv##large(void *into, COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm,                  \
                        MPI_Status *status)                                                                            \
    {                                                                                                                  \
        STATUS;                                                                                                        \
        TRACED("MPI_Recv", PMPI_Recv##large(into, count, type, from, tag, comm, seen),                                 \
               receive(comm, from, tag, count, type, seen));                                                           \
    }                                                                                                                  \
    int MPI_Mrecv##large(void *into, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)         \
    {                                                                                                                  \
        STATUS;                                                                                                        \
        struct message_facts facts = take_message(*message);                                                           \
        TRACED("MPI_Mrecv", PMPI_Mrecv##large(into, count, type, message, seen),                                       \
               (matched_fields(facts), data_fields("", count, type), got_field(seen)));                                \
    }                                                                                                                  \
    int MPI_Imrecv##large(void *into, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)      \
    {                                                                                                                  \
        struct message_facts facts = take_message(*message);                                                           \
        TRACED("MPI_Imrecv", PMPI_Imrecv##large(into, count, type, message, request),                                  \
               (matched_fields(facts), data_fields("", count, type), request_field(*request, a_receive)));             \
    }                                                                                                                  \
    int MPI_Sendrecv##large(const void *data, COUNT count, MPI_Datatype type, int to, int tag, void *into,             \
                            COUNT room, MPI_Datatype recv_type, int from, int recv_tag, MPI_Comm comm,                 \
                            MPI_Status *status)                                                                        \
    {                                                                                                                  \
        STATUS;                                                                                                        \
        TRACED("MPI_Sendrecv",                                                                                         \
               PMPI_Sendrecv##large(data, count, type, to, tag, into, room, recv_type, from, recv_tag, comm, seen),    \
               (message(comm, to, tag, count, type), data_fields("recv_", room, recv_type),                            \
                receive_part(from, recv_tag, seen)));                                                                  \
    }                                                                                                                  \
    int MPI_Sendrecv_replace##large(void *data, COUNT count, MPI_Datatype type, int to, int tag, int from,             \
                                    int recv_tag, MPI_Comm comm, MPI_Status *status)                                   \
    {                                                                                                                  \
        STATUS;                                                                                                        \
        TRACED("MPI_Sendrecv_replace",                                                                                 \
               PMPI_Sendrecv_replace##large(data, count, type, to, tag, from, recv_tag, comm, seen),                   \
               (message(comm, to, tag, count, type), data_fields("recv_", count, type),                                \
                receive_part(from, recv_tag, seen)));                                                                  \
    }

static void probe(MPI_Comm comm, int from, int tag, const MPI_Status *status)
{
    comm_field(comm);
    peer_fields("", from, tag);
    got_field(status);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    STATUS;
    TRACED("MPI_Probe", PMPI_Probe(from, tag, comm, seen), probe(comm, from, tag, seen));
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    STATUS;
    TRACED("MPI_Mprobe", PMPI_Mprobe(from, tag, comm, message, seen),
           (probe(comm, from, tag, seen), keep_message(*message, comm, seen)));
}

/* A call that may find nothing: `flag` is 0 then. */
#define LOOKS(function, call, fields)                                                                                  \
    do {                                                                                                               \
        struct moment call_start = call_begins();                                                                      \
        int code = call;                                                                                               \
        if (code == MPI_SUCCESS && !*flag) {                                                                           \
            look_failed(call_start, function);                                                                         \
        } else if (call_ends(call_start, function, code)) {                                                            \
            fields;                                                                                                    \
            line_ends();                                                                                               \
        }                                                                                                              \
        return code;                                                                                                   \
    } while (0)

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    STATUS;
    LOOKS("MPI_Iprobe", PMPI_Iprobe(from, tag, comm, flag, seen), probe(comm, from, tag, seen));
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    STATUS;
    LOOKS("MPI_Improbe", PMPI_Improbe(from, tag, comm, flag, message, seen),
          (probe(comm, from, tag, seen), keep_message(*message, comm, seen)));
}

/* Requests */

int MPI_Start(MPI_Request *request)
{
    TRACED("MPI_Start", PMPI_Start(request), named_fields(1, request));
}

int MPI_Startall(int count, MPI_Request requests[])
{
    TRACED("MPI_Startall", PMPI_Startall(count, requests), named_fields(count, requests));
}

int MPI_Cancel(MPI_Request *request)
{
    TRACED("MPI_Cancel", PMPI_Cancel(request), named_fields(1, request));
}

/* A call that completes `completed` of `count` requests: all, or the ones in `indices`. */
#define COMPLETES(function, count, requests, call, is_done, completed, indices)                                        \
    do {                                                                                                               \
        struct moment call_start = call_begins();                                                                      \
        MPI_Request before_few[16], *before = before_few;                                                              \
        MPI_Status seen_few[16], *seen = status_out;                                                                   \
        struct request_facts *facts = take_requests(count, requests);                                                  \
        if (facts && (count) > 16)                                                                                     \
            before = malloc(sizeof *before * (size_t)(count));                                                         \
        if (facts && (count) > 0)                                                                                      \
            memcpy(before, requests, sizeof *before * (size_t)(count));                                                \
        if (is_ignored)                                                                                                \
            seen = (count) > 16 ? malloc(sizeof *seen * (size_t)(count)) : seen_few;                                   \
        int code = call;                                                                                               \
        if (!facts) {                                                                                                  \
            call_ends(call_start, function, MPI_ERR_OTHER);                                                            \
        } else if (code != MPI_SUCCESS || !(is_done)) {                                                                \
            code == MPI_SUCCESS ? look_failed(call_start, function) : (void)call_ends(call_start, function, code);     \
            keep_requests(count, facts, before);                                                                       \
        } else if (call_ends(call_start, function, code)) {                                                            \
            completed_fields(count, facts, before, completed, indices, seen);                                          \
            line_ends();                                                                                               \
        }                                                                                                              \
        if (is_ignored && seen != seen_few)                                                                            \
            free(seen);                                                                                                \
        if (before != before_few)                                                                                      \
            free(before);                                                                                              \
        return code;                                                                                                   \
    } while (0)

int MPI_Wait(MPI_Request *request, MPI_Status *status_out)
{
    int is_ignored = status_out == MPI_STATUS_IGNORE;
    COMPLETES("MPI_Wait", 1, request, PMPI_Wait(request, seen), 1, 1, NULL);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status_out)
{
    int is_ignored = status_out == MPI_STATUS_IGNORE;
    COMPLETES("MPI_Test", 1, request, PMPI_Test(request, flag, seen), *flag, 1, NULL);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status status_out[])
{
    int is_ignored = status_out == MPI_STATUSES_IGNORE;
    COMPLETES("MPI_Waitall", count, requests, PMPI_Waitall(count, requests, seen), 1, count, NULL);
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status status_out[])
{
    int is_ignored = status_out == MPI_STATUSES_IGNORE;
    COMPLETES("MPI_Testall", count, requests, PMPI_Testall(count, requests, flag, seen), *flag, count, NULL);
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status_out)
{
    int is_ignored = status_out == MPI_STATUS_IGNORE;
    COMPLETES("MPI_Waitany", count, requests, PMPI_Waitany(count, requests, index, seen), 1, *index != MPI_UNDEFINED,
              index);
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status_out)
{
    int is_ignored = status_out == MPI_STATUS_IGNORE;
    COMPLETES("MPI_Testany", count, requests, PMPI_Testany(count, requests, index, flag, seen), *flag,
              *index != MPI_UNDEFINED, index);
}

int MPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status status_out[])
{
    int is_ignored = status_out == MPI_STATUSES_IGNORE;
    COMPLETES("MPI_Waitsome", count, requests, PMPI_Waitsome(count, requests, completed, indices, seen), 1,
              *completed == MPI_UNDEFINED ? 0 : *completed, indices);
}

int MPI_Testsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status status_out[])
{
    int is_ignored = status_out == MPI_STATUSES_IGNORE;
    COMPLETES("MPI_Testsome", count, requests, PMPI_Testsome(count, requests, completed, indices, seen), *completed != 0,
              *completed == MPI_UNDEFINED ? 0 : *completed, indices);
}

int MPI_Request_free(MPI_Request *request)
{
    struct moment call_start = call_begins();
    MPI_Request before = *request;
    struct request_facts *facts = take_requests(1, request);
    int code = PMPI_Request_free(request);
    if (call_ends(call_start, "MPI_Request_free", code)) {
        if (facts->number >= 0)
            fields("requests", &facts->number, sizeof(int), 1);
        else
            fields("requests", NULL, sizeof(int), 0);
        line_ends();
        free(facts);
    } else {
        keep_requests(1, facts, &before);
    }
    return code;
}

/* Collectives */

/* A blocking collective and its nonblocking form. */
#define COLLECTIVE(name, initial, large, parameters, arguments, description)                                           \
    int MPI_##name##large parameters(MPI_Comm comm)                                                                    \
    {                                                                                                                  \
        TRACED("MPI_" #name, PMPI_##name##large arguments(comm), (comm_field(comm), description));                     \
    }                                                                                                                  \
    int MPI_I##initial##large parameters(MPI_Comm comm COMMA MPI_Request * request)                                    \
    {                                                                                                                  \
        TRACED("MPI_I" #initial, PMPI_I##initial##large arguments(comm COMMA request),                                 \
               (comm_field(comm), description, request_field(*request, a_collective)));                                \
    }
#define COMMA ,

static void in_place(int is_in_place)
{
    if (is_in_place)
        flag_field("in_place", 1);
}

static void reduction(const void *sent, MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    in_place(sent == MPI_IN_PLACE);
    data_fields("", count, type);
    op_fields(op);
}

static void rooted_reduction(const void *sent, MPI_Count count, MPI_Datatype type, MPI_Op op, int root)
{
    reduction(sent, count, type, op);
    root_field(root);
}

static void scattered_reduction(MPI_Comm comm, const void *sent, const void *counts, size_t count_bytes, MPI_Datatype type,
                                MPI_Op op)
{
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    in_place(sent == MPI_IN_PLACE);
    fields("counts", counts, count_bytes, ranks);
    type_fields("", type);
    op_fields(op);
}

static void broadcast(MPI_Count count, MPI_Datatype type, int root)
{
    data_fields("", count, type);
    root_field(root);
}

/* Writes the blocks of a call; leaves out arguments that MPI ignores. */
static void blocks(const void *sent, MPI_Count count, MPI_Datatype type, MPI_Count room, MPI_Datatype recv_type)
{
    in_place(sent == MPI_IN_PLACE);
    if (sent != MPI_IN_PLACE)
        data_fields("", count, type);
    data_fields("recv_", room, recv_type);
}

static void gather_fields(MPI_Comm comm, const void *sent, MPI_Count count, MPI_Datatype type, MPI_Count room,
                     MPI_Datatype recv_type, int root)
{
    root_field(root);
    in_place(sent == MPI_IN_PLACE);
    if (sent != MPI_IN_PLACE && root != MPI_ROOT && root != MPI_PROC_NULL)
        data_fields("", count, type);
    if (is_root(comm, root))
        data_fields("recv_", room, recv_type);
}

static void scatter_fields(MPI_Comm comm, MPI_Count count, MPI_Datatype type, const void *into, MPI_Count room,
                      MPI_Datatype recv_type, int root)
{
    root_field(root);
    in_place(into == MPI_IN_PLACE);
    if (is_root(comm, root))
        data_fields("", count, type);
    if (into != MPI_IN_PLACE && root != MPI_ROOT && root != MPI_PROC_NULL)
        data_fields("recv_", room, recv_type);
}

/* The same for blocks of different sizes. */
static void uneven(const char *prefix, const char *name, MPI_Comm comm, const void *counts, size_t count_bytes,
                   MPI_Datatype type)
{
    fields(name, counts, count_bytes, blocks_of(comm));
    type_fields(prefix, type);
}

static void uneven_gathered(MPI_Comm comm, const void *sent, MPI_Count count, MPI_Datatype type, const void *counts,
                            size_t count_bytes, MPI_Datatype recv_type)
{
    in_place(sent == MPI_IN_PLACE);
    if (sent != MPI_IN_PLACE)
        data_fields("", count, type);
    uneven("recv_", "recv_counts", comm, counts, count_bytes, recv_type);
}

static void uneven_gathered_at(MPI_Comm comm, const void *sent, MPI_Count count, MPI_Datatype type, const void *counts,
                               size_t count_bytes, MPI_Datatype recv_type, int root)
{
    root_field(root);
    in_place(sent == MPI_IN_PLACE);
    if (sent != MPI_IN_PLACE && root != MPI_ROOT && root != MPI_PROC_NULL)
        data_fields("", count, type);
    if (is_root(comm, root))
        uneven("recv_", "recv_counts", comm, counts, count_bytes, recv_type);
}

static void uneven_scattered(MPI_Comm comm, const void *counts, size_t count_bytes, MPI_Datatype type, const void *into,
                             MPI_Count room, MPI_Datatype recv_type, int root)
{
    root_field(root);
    in_place(into == MPI_IN_PLACE);
    if (is_root(comm, root))
        uneven("", "counts", comm, counts, count_bytes, type);
    if (into != MPI_IN_PLACE && root != MPI_ROOT && root != MPI_PROC_NULL)
        data_fields("recv_", room, recv_type);
}

static void uneven_blocks(MPI_Comm comm, const void *sent, const void *counts, MPI_Datatype type, const void *recv_counts,
                          size_t count_bytes, MPI_Datatype recv_type)
{
    in_place(sent == MPI_IN_PLACE);
    if (sent != MPI_IN_PLACE)
        uneven("", "counts", comm, counts, count_bytes, type);
    uneven("recv_", "recv_counts", comm, recv_counts, count_bytes, recv_type);
}

/* MPI_Alltoallw: each block has its own type, so that sizes are in bytes. */
static void bytes_of_blocks(const char *name, MPI_Comm comm, const void *counts, size_t count_bytes,
                            const MPI_Datatype types[])
{
    int ranks = blocks_of(comm);
    MPI_Count *bytes = malloc(sizeof *bytes * (size_t)(ranks + 1));
    for (int i = 0; bytes && i < ranks; i++) {
        PMPI_Type_size_x(types[i], &bytes[i]);
        bytes[i] *= count_bytes == sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
    }
    fields(name, bytes, sizeof *bytes, bytes ? ranks : 0);
    free(bytes);
}

static void typed_blocks(MPI_Comm comm, const void *sent, const void *counts, const MPI_Datatype types[],
                         const void *recv_counts, size_t count_bytes, const MPI_Datatype recv_types[])
{
    in_place(sent == MPI_IN_PLACE);
    if (sent != MPI_IN_PLACE) {
        bytes_of_blocks("counts", comm, counts, count_bytes, types);
        type_fields("", MPI_BYTE);
    }
    bytes_of_blocks("recv_counts", comm, recv_counts, count_bytes, recv_types);
    type_fields("recv_", MPI_BYTE);
}

#define REDUCTION_PARAMETERS(...)                                                                                      \
    (const void *sent, void *into, COUNT count, MPI_Datatype type, MPI_Op op, __VA_ARGS__)
#define REDUCTION_ARGUMENTS(...) (sent, into, count, type, op, __VA_ARGS__)
#define REDUCE_PARAMETERS(...)                                                                                         \
    (const void *sent, void *into, COUNT count, MPI_Datatype type, MPI_Op op, int root, __VA_ARGS__)
#define REDUCE_ARGUMENTS(...) (sent, into, count, type, op, root, __VA_ARGS__)
#define REDUCE_SCATTER_PARAMETERS(...)                                                                                 \
    (const void *sent, void *into, const COUNT counts[], MPI_Datatype type, MPI_Op op, __VA_ARGS__)
#define REDUCE_SCATTER_ARGUMENTS(...) (sent, into, counts, type, op, __VA_ARGS__)
#define BROADCAST_PARAMETERS(...) (void *data, COUNT count, MPI_Datatype type, int root, __VA_ARGS__)
#define BROADCAST_ARGUMENTS(...) (data, count, type, root, __VA_ARGS__)
#define BARRIER_PARAMETERS(...) (__VA_ARGS__)
#define BARRIER_ARGUMENTS(...) (__VA_ARGS__)
#define BLOCKS_PARAMETERS(...)                                                                                         \
    (const void *sent, COUNT count, MPI_Datatype type, void *into, COUNT room, MPI_Datatype recv_type, __VA_ARGS__)
#define BLOCKS_ARGUMENTS(...) (sent, count, type, into, room, recv_type, __VA_ARGS__)
#define ROOTED_PARAMETERS(...)                                                                                         \
    (const void *sent, COUNT count, MPI_Datatype type, void *into, COUNT room, MPI_Datatype recv_type, int root,       \
     __VA_ARGS__)
#define ROOTED_ARGUMENTS(...) (sent, count, type, into, room, recv_type, root, __VA_ARGS__)
#define ALLGATHERV_PARAMETERS(...)                                                                                     \
    (const void *sent, COUNT count, MPI_Datatype type, void *into, const COUNT counts[], const PLACE places[],         \
     MPI_Datatype recv_type, __VA_ARGS__)
#define ALLGATHERV_ARGUMENTS(...) (sent, count, type, into, counts, places, recv_type, __VA_ARGS__)
#define GATHERV_PARAMETERS(...)                                                                                        \
    (const void *sent, COUNT count, MPI_Datatype type, void *into, const COUNT counts[], const PLACE places[],         \
     MPI_Datatype recv_type, int root, __VA_ARGS__)
#define GATHERV_ARGUMENTS(...) (sent, count, type, into, counts, places, recv_type, root, __VA_ARGS__)
#define SCATTERV_PARAMETERS(...)                                                                                       \
    (const void *sent, const COUNT counts[], const PLACE places[], MPI_Datatype type, void *into, COUNT room,          \
     MPI_Datatype recv_type, int root, __VA_ARGS__)
#define SCATTERV_ARGUMENTS(...) (sent, counts, places, type, into, room, recv_type, root, __VA_ARGS__)
#define ALLTOALLV_PARAMETERS(...)                                                                                      \
    (const void *sent, const COUNT counts[], const PLACE places[], MPI_Datatype type, void *into,                      \
     const COUNT recv_counts[], const PLACE recv_places[], MPI_Datatype recv_type, __VA_ARGS__)
#define ALLTOALLV_ARGUMENTS(...) (sent, counts, places, type, into, recv_counts, recv_places, recv_type, __VA_ARGS__)
#define ALLTOALLW_PARAMETERS(...)                                                                                      \
    (const void *sent, const COUNT counts[], const PLACE places[], const MPI_Datatype types[], void *into,             \
     const COUNT recv_counts[], const PLACE recv_places[], const MPI_Datatype recv_types[], __VA_ARGS__)
#define ALLTOALLW_ARGUMENTS(...) (sent, counts, places, types, into, recv_counts, recv_places, recv_types, __VA_ARGS__)

#define COLLECTIVES(large)                                                                                             \
    COLLECTIVE(Allreduce, allreduce, large, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS,                                 \
               reduction(sent, count, type, op))                                                                       \
    COLLECTIVE(Scan, scan, large, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS, reduction(sent, count, type, op))         \
    COLLECTIVE(Exscan, exscan, large, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS, reduction(sent, count, type, op))     \
    COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, large, REDUCTION_PARAMETERS, REDUCTION_ARGUMENTS,           \
               reduction(sent, count, type, op))                                                                       \
    COLLECTIVE(Reduce, reduce, large, REDUCE_PARAMETERS, REDUCE_ARGUMENTS,                                             \
               rooted_reduction(sent, count, type, op, root))                                                          \
    COLLECTIVE(Reduce_scatter, reduce_scatter, large, REDUCE_SCATTER_PARAMETERS, REDUCE_SCATTER_ARGUMENTS,             \
               scattered_reduction(comm, sent, counts, sizeof *counts, type, op))                                      \
    COLLECTIVE(Bcast, bcast, large, BROADCAST_PARAMETERS, BROADCAST_ARGUMENTS, broadcast(count, type, root))           \
    COLLECTIVE(Allgather, allgather, large, BLOCKS_PARAMETERS, BLOCKS_ARGUMENTS,                                       \
               blocks(sent, count, type, room, recv_type))                                                             \
    COLLECTIVE(Alltoall, alltoall, large, BLOCKS_PARAMETERS, BLOCKS_ARGUMENTS,                                         \
               blocks(sent, count, type, room, recv_type))                                                             \
    COLLECTIVE(Gather, gather, large, ROOTED_PARAMETERS, ROOTED_ARGUMENTS,                                             \
               gather_fields(comm, sent, count, type, room, recv_type, root))                                          \
    COLLECTIVE(Scatter, scatter, large, ROOTED_PARAMETERS, ROOTED_ARGUMENTS,                                           \
               scatter_fields(comm, count, type, into, room, recv_type, root))                                         \
    COLLECTIVE(Allgatherv, allgatherv, large, ALLGATHERV_PARAMETERS, ALLGATHERV_ARGUMENTS,                             \
               uneven_gathered(comm, sent, count, type, counts, sizeof *counts, recv_type))                            \
    COLLECTIVE(Gatherv, gatherv, large, GATHERV_PARAMETERS, GATHERV_ARGUMENTS,                                         \
               uneven_gathered_at(comm, sent, count, type, counts, sizeof *counts, recv_type, root))                   \
    COLLECTIVE(Scatterv, scatterv, large, SCATTERV_PARAMETERS, SCATTERV_ARGUMENTS,                                     \
               uneven_scattered(comm, counts, sizeof *counts, type, into, room, recv_type, root))                      \
    COLLECTIVE(Alltoallv, alltoallv, large, ALLTOALLV_PARAMETERS, ALLTOALLV_ARGUMENTS,                                 \
               uneven_blocks(comm, sent, counts, type, recv_counts, sizeof *counts, recv_type))                        \
    COLLECTIVE(Alltoallw, alltoallw, large, ALLTOALLW_PARAMETERS, ALLTOALLW_ARGUMENTS,                                 \
               typed_blocks(comm, sent, counts, types, recv_counts, sizeof *counts, recv_types))

COLLECTIVE(Barrier, barrier, , BARRIER_PARAMETERS, BARRIER_ARGUMENTS, (void)0)

#define COUNT int
#define PLACE int
MESSAGES()
COLLECTIVES()
#ifdef HAS_LARGE_COUNTS
#undef COUNT
#undef PLACE
#define COUNT MPI_Count
#define PLACE MPI_Aint
MESSAGES(_c)
COLLECTIVES(_c)
#endif

/* Communicators */

#define NEW_COMM(name, parameters, arguments, parent)                                                                  \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        TRACED("MPI_" #name, PMPI_##name arguments, (comm_field(parent), new_comm_field(*new_comm)));                  \
    }

NEW_COMM(Comm_dup, (MPI_Comm comm, MPI_Comm *new_comm), (comm, new_comm), comm)
NEW_COMM(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *new_comm), (comm, info, new_comm), comm)
NEW_COMM(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *new_comm), (comm, group, new_comm), comm)
NEW_COMM(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new_comm),
         (comm, group, tag, new_comm), comm)
NEW_COMM(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *new_comm), (comm, color, key, new_comm), comm)
NEW_COMM(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new_comm),
         (comm, type, key, info, new_comm), comm)
NEW_COMM(Cart_create, (MPI_Comm comm, int axes, const int dims[], const int periods[], int reorder, MPI_Comm *new_comm),
         (comm, axes, dims, periods, reorder, new_comm), comm)
NEW_COMM(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *new_comm), (comm, remain, new_comm), comm)
NEW_COMM(Graph_create,
         (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *new_comm),
         (comm, nodes, index, edges, reorder, new_comm), comm)
NEW_COMM(Dist_graph_create,
         (MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[], const int weights[],
          MPI_Info info, int reorder, MPI_Comm *new_comm),
         (comm, n, nodes, degrees, targets, weights, info, reorder, new_comm), comm)
NEW_COMM(Dist_graph_create_adjacent,
         (MPI_Comm comm, int indegree, const int sources[], const int source_weights[], int outdegree,
          const int targets[], const int target_weights[], MPI_Info info, int reorder, MPI_Comm *new_comm),
         (comm, indegree, sources, source_weights, outdegree, targets, target_weights, info, reorder, new_comm), comm)
NEW_COMM(Intercomm_create,
         (MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *new_comm),
         (comm, leader, peers, remote_leader, tag, new_comm), comm)
NEW_COMM(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *new_comm), (comm, high, new_comm), comm)

static void duplicate(MPI_Comm comm, MPI_Comm *new_comm, MPI_Request request)
{
    comm_field(comm);
    request_field(request, (struct request_facts){.comm = new_comm, .comm_number = coming_comm_field(comm)});
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *new_comm, MPI_Request *request)
{
    TRACED("MPI_Comm_idup", PMPI_Comm_idup(comm, new_comm, request), duplicate(comm, new_comm, *request));
}

int MPI_Comm_free(MPI_Comm *comm)
{
    int number = comm_number(*comm);
    TRACED("MPI_Comm_free", PMPI_Comm_free(comm), field("comm", number));
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    int number = comm_number(*comm);
    TRACED("MPI_Comm_disconnect", PMPI_Comm_disconnect(comm), field("comm", number));
}
