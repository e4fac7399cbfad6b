/* Collectives of an MPI program by algorithms of Hocket: communicators, operations, progress.
 *
 * Messages go over a private communicator of the same processes, so that they never meet messages of the program. It is
 * made by the first blocking call that has an algorithm; where rules name nonblocking calls, together with the caller's.
 * A call must not wait to make it when it must not wait, and Open MPI's MPI_Comm_idup must not run beside other
 * nonblocking collectives: their messages meet. Calls that do not reduce move bytes: data of types with gaps is packed,
 * so that ranks may describe the same data by different types. Reductions work on the caller's type, with
 * PMPI_Reduce_local.
 */
#include "shim.h"

#include "types.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tags that the messages of one operation have. */
enum { TAGS_PER_OPERATION = 64 };
/* Bytes and elements that one call of MPI is given at most. */
enum { MOST_AT_ONCE = 1 << 30 };

/* What each thread remembers of its last call; the library is there from the start of the program, which makes that cheap. */
#define REMEMBERED static _Thread_local __attribute__((tls_model("initial-exec")))

struct communicator {
    MPI_Comm private_comm;
    int rank, ranks;
    /* Why all its calls are left to MPI, or NULL. */
    const char *reason;
    hocket_engine *engine;
    /* Of blocking and of nonblocking calls: ranks may order one kind and the other differently. */
    unsigned sequences[2];
    size_t *counts;
    /* Operations that are not running. */
    struct operation *idle;
    pthread_mutex_t lock;
    /* The communicator itself, and requests of calls that were started. */
    int users;
    int is_freed;
};

/* Memory that grows. */
struct room {
    char *bytes;
    size_t size;
};

/* What a type is like: whether its elements lie one after the other and have no gaps, as those of most named types. */
struct shape {
    MPI_Datatype type;
    int is_named, is_dense;
    size_t bytes;
    hocket_layout layout;
};

/* A message under way. */
struct message {
    MPI_Request request;
    uint32_t slot;
    int is_receive;
    /* How many bytes are received at most. */
    size_t room;
};

struct operation {
    struct communicator *comm;
    hocket_operation *program;
    struct call call;
    MPI_Datatype callers_types[2];
    /* What the program works on. */
    struct shape elements;
    int is_done;
    /* What went wrong meanwhile: it goes on, since others wait for it, and the call returns this. */
    int error;
    unsigned sequence;
    struct room packed_input, packed_result, copying;
    struct message *messages;
    int under_way, message_room;
    double start_s;
    /* Of a call that was started: its request, and the next such call. */
    MPI_Request generalized;
    struct operation *next;
};

static struct {
    int is_ready;
    const char *off;
    int leaves_started;
    int log_calls, log_summary, world_rank;
    /* Sessions of the program that have not ended, and whether the summary is printed. */
    int sessions, has_summary;
    /* Whether there are more ranks here than processors: one that waits lets others go on. */
    int is_crowded;
    int has_threads;
    int keyval;
    /* How many communicators with a state have been freed. */
    unsigned freed_communicators;
    unsigned most_operations;
    /* This process by itself: what MPI says on it, no handler is told. */
    MPI_Comm judge;
    pthread_mutex_t judge_lock;
    pthread_mutex_t lock;
    /* Calls that were started and are under way. */
    struct operation *active;
    int active_count;
    /* Those whose requests are gone. */
    struct operation *ended;
    pthread_mutex_t ended_lock;
    /* Operators that were freed meanwhile: they are freed when nothing is under way. */
    MPI_Op *freed_ops;
    int freed_count;
} shim = {.keyval = MPI_KEYVAL_INVALID,
          .judge_lock = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .ended_lock = PTHREAD_MUTEX_INITIALIZER};

static void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_line(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *end = line; (end = strpbrk(end, "\r\n"));)
        *end = ' ';
    fprintf(stderr, "hocket: %s\n", line);
}

/* A program of one thread is spared the locks of every call. */
static void lock(pthread_mutex_t *mutex)
{
    if (shim.has_threads)
        pthread_mutex_lock(mutex);
}

static void unlock(pthread_mutex_t *mutex)
{
    if (shim.has_threads)
        pthread_mutex_unlock(mutex);
}

static void *grown(void *memory, size_t bytes)
{
    void *grown = realloc(memory, bytes ? bytes : 1);
    if (!grown) {
        print_line("out of memory: %zu bytes", bytes);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    return grown;
}

void *shim_room(size_t bytes)
{
    return grown(NULL, bytes);
}

static char *make_room(struct room *room, size_t bytes)
{
    if (room->size < bytes) {
        room->bytes = grown(room->bytes, bytes);
        room->size = bytes;
    }
    return room->bytes;
}

/* Whether some call of a collective may get an algorithm. */
static int has_rule(int collective, int is_nonblocking)
{
    return !(is_nonblocking && shim.leaves_started) && hocket_has_rule(collective, is_nonblocking);
}

/* Types */

/* Until the thread asks for the next one. */
static const struct shape *shape_of(MPI_Datatype type)
{
    REMEMBERED struct shape last;
    MPI_Count size, lower, extent, true_lower, true_extent;
    if (last.is_named && last.type == type)
        return &last;
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent_x(type, &lower, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
    int named = is_named(type), is_dense = named && size == extent && true_lower == 0 && true_extent == size;
    last = (struct shape){type, named, is_dense, (size_t)size,
                          {(ptrdiff_t)extent, (ptrdiff_t)true_lower, (size_t)true_extent}};
    return &last;
}

/* Whether MPI takes a type, and an operator for it: it is asked in calls that touch no elements. */
static int are_taken(MPI_Datatype type, MPI_Op op)
{
    REMEMBERED struct {
        int is_set;
        MPI_Datatype type;
        MPI_Op op;
    } last;
    int code;
    if (last.is_set && last.type == type && last.op == op)
        return 1;
    if (op == MPI_OP_NULL) {
        code = PMPI_Send(&last, 1, type, MPI_PROC_NULL, 0, shim.judge);
    } else {
        lock(&shim.judge_lock);
        code = PMPI_Allreduce(MPI_IN_PLACE, NULL, 0, type, op, shim.judge);
        unlock(&shim.judge_lock);
    }
    if (code == MPI_SUCCESS && shape_of(type)->is_named) {
        last.is_set = 1;
        last.type = type;
        last.op = op;
    }
    return code == MPI_SUCCESS;
}

int shim_takes(MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    return !shim.is_ready || (count >= 0 && type != MPI_DATATYPE_NULL && are_taken(type, op));
}

const char *shim_objection(const void *address, MPI_Count count, MPI_Datatype type)
{
    if (!shim.is_ready)
        return NULL;
    if (address == MPI_IN_PLACE)
        return "in place where it cannot be";
    /* Elements at absolute addresses have none of their own. */
    if (!address && count && shape_of(type)->bytes && shape_of(type)->layout.true_lower_bound == 0)
        return "no buffer";
    return NULL;
}

static char *element(const void *base, size_t index, ptrdiff_t extent)
{
    return (char *)base + (ptrdiff_t)index * extent;
}

/* A type of so many elements, more than an int holds. */
static int large_type(size_t count, MPI_Datatype type, MPI_Datatype *large)
{
    MPI_Datatype many, types[2];
    MPI_Aint lower, extent, places[2] = {0, 0};
    int lengths[2] = {1, (int)(count % MOST_AT_ONCE)};
    int code = PMPI_Type_vector((int)(count / MOST_AT_ONCE), MOST_AT_ONCE, MOST_AT_ONCE, type, &many);
    if (code != MPI_SUCCESS)
        return code;
    PMPI_Type_get_extent(type, &lower, &extent);
    places[1] = (MPI_Aint)(count - count % MOST_AT_ONCE) * extent;
    types[0] = many;
    types[1] = type;
    code = PMPI_Type_create_struct(2, lengths, places, types, large);
    if (code == MPI_SUCCESS)
        code = PMPI_Type_commit(large);
    PMPI_Type_free(&many);
    return code;
}

/* A count and a type as MPI takes them: of more elements than an int counts, one of a type made for them. */
struct counted {
    int count;
    MPI_Datatype type;
    int is_made;
};

static int counted(size_t count, MPI_Datatype type, struct counted *counted)
{
    *counted = (struct counted){(int)count, type, count > INT_MAX};
    if (!counted->is_made)
        return MPI_SUCCESS;
    counted->count = 1;
    return large_type(count, type, &counted->type);
}

static void release_counted(struct counted *counted)
{
    if (counted->is_made)
        PMPI_Type_free(&counted->type);
}

static int tag_of(const struct operation *operation, uint32_t tag)
{
    unsigned number = operation->sequence % shim.most_operations * 2 + (operation->call.is_nonblocking != 0);
    return (int)(number * TAGS_PER_OPERATION + tag);
}

/* Moves elements as a message from this rank to itself. */
static int send_to_self(const struct operation *operation, struct view from, struct view into)
{
    struct counted sent, received;
    int self = operation->comm->rank, tag = tag_of(operation, 0), code = counted(from.count, from.type, &sent);
    if (code != MPI_SUCCESS)
        return code;
    code = counted(into.count, into.type, &received);
    if (code == MPI_SUCCESS) {
        code = PMPI_Sendrecv(from.address, sent.count, sent.type, self, tag, into.address, received.count,
                             received.type, self, tag, operation->comm->private_comm, MPI_STATUS_IGNORE);
        release_counted(&received);
    }
    release_counted(&sent);
    return code;
}

/* Moves elements between memory in the caller's layout and packed bytes, as many at a time as fit an int. MPICH 4.0 packs
 * nothing at MPI_BOTTOM, and MPI_Pack no element of more bytes than an int counts. */
static int pack(const struct operation *operation, struct view view, char *packed, int unpacks)
{
    struct shape shape = *shape_of(view.type);
    MPI_Comm comm = operation->comm->private_comm;
    size_t bytes = shape.bytes;
    if (!bytes)
        return MPI_SUCCESS;
    size_t step = bytes < MOST_AT_ONCE ? MOST_AT_ONCE / bytes : 1;
    for (size_t first = 0; first < view.count; first += step) {
        int count = (int)(view.count - first < step ? view.count - first : step), position = 0, code;
        char *at = element(view.address, first, shape.layout.extent), *there = packed + first * bytes;
        struct view elements = {at, (size_t)count, view.type}, flat = {there, (size_t)count * bytes, MPI_BYTE};
        if (bytes > MOST_AT_ONCE || at == MPI_BOTTOM)
            code = unpacks ? send_to_self(operation, flat, elements) : send_to_self(operation, elements, flat);
        else if (unpacks)
            code = PMPI_Unpack(there, count * (int)bytes, &position, at, count, view.type, comm);
        else
            code = PMPI_Pack(at, count, view.type, there, count * (int)bytes, &position, comm);
        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

/* Functions that the engine calls */

/* Starts to send to a peer, or to receive from it. */
static int start_message(struct operation *operation, int sends, uint32_t slot, void *at, size_t count, int peer,
                         uint32_t tag)
{
    struct counted elements;
    if (tag >= TAGS_PER_OPERATION)
        return MPI_ERR_TAG;
    int code = counted(count, operation->elements.type, &elements);
    if (code != MPI_SUCCESS)
        return code;
    if (operation->under_way == operation->message_room) {
        operation->message_room = 2 * operation->message_room + 8;
        operation->messages = grown(operation->messages, sizeof(struct message) * (size_t)operation->message_room);
    }
    struct message *message = &operation->messages[operation->under_way];
    *message = (struct message){MPI_REQUEST_NULL, slot, !sends, count * operation->elements.bytes};
    MPI_Comm comm = operation->comm->private_comm;
    int mpi_tag = tag_of(operation, tag);
    code = sends ? PMPI_Isend(at, elements.count, elements.type, peer, mpi_tag, comm, &message->request)
                 : PMPI_Irecv(at, elements.count, elements.type, peer, mpi_tag, comm, &message->request);
    operation->under_way += code == MPI_SUCCESS;
    release_counted(&elements);
    return code;
}

static int transport_send(void *user, uint32_t slot, const void *data, size_t count, int32_t to, uint32_t tag)
{
    return start_message(user, 1, slot, (void *)data, count, to, tag);
}

static int transport_receive(void *user, uint32_t slot, void *into, size_t count, int32_t from, uint32_t tag)
{
    return start_message(user, 0, slot, into, count, from == HOCKET_ANY_SOURCE ? MPI_ANY_SOURCE : from, tag);
}

static void note(struct operation *operation, int code)
{
    if (operation->error == MPI_SUCCESS)
        operation->error = code;
}

/* What MPI makes of a broadcast that is shorter than a rank expects. */
#ifdef OPEN_MPI
enum { ERROR_OF_SHORT_BROADCAST = MPI_SUCCESS };
#else
enum { ERROR_OF_SHORT_BROADCAST = MPI_ERR_OTHER };
#endif

static void note_received(struct operation *operation, const struct message *message, MPI_Status *status,
                          hocket_ended *ended)
{
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    ended->source = (uint32_t)status->MPI_SOURCE;
    ended->count = bytes > 0 ? (size_t)bytes / operation->elements.bytes : 0;
    if (operation->call.collective == HOCKET_BROADCAST && (size_t)bytes != message->room)
        note(operation, ERROR_OF_SHORT_BROADCAST);
}

static int is_truncated(int code)
{
    int class = MPI_SUCCESS;
    PMPI_Error_class(code, &class);
    return class == MPI_ERR_TRUNCATE;
}

/* Takes those messages that have ended. One by one, since an error of several goes to the handler of MPI_COMM_WORLD. */
static int look(struct operation *operation, hocket_ended *ended, size_t room, size_t *count)
{
    for (int i = 0; i < operation->under_way && *count < room;) {
        struct message *message = &operation->messages[i];
        MPI_Status status;
        int flag = 0;
        int code = PMPI_Test(&message->request, &flag, message->is_receive ? &status : MPI_STATUS_IGNORE);
        int is_cut = code != MPI_SUCCESS && message->is_receive && is_truncated(code);
        if (code != MPI_SUCCESS && !is_cut)
            return code;
        if (!flag && !is_cut) {
            i++;
            continue;
        }
        hocket_ended *one = &ended[(*count)++];
        *one = (hocket_ended){.slot = message->slot};
        if (is_cut)
            note(operation, MPI_ERR_TRUNCATE);
        else if (message->is_receive)
            note_received(operation, message, &status, one);
        *message = operation->messages[--operation->under_way];
    }
    return MPI_SUCCESS;
}

static int transport_test(void *user, int may_wait, hocket_ended *ended, size_t room, size_t *count)
{
    *count = 0;
    for (;;) {
        int code = look(user, ended, room, count);
        if (code != MPI_SUCCESS || *count || !may_wait)
            return code;
        if (shim.is_crowded)
            sched_yield();
    }
}

static int transport_reduce(void *user, const void *source, void *target, size_t count)
{
    struct operation *operation = user;
    ptrdiff_t extent = operation->elements.layout.extent;
    for (size_t first = 0; first < count; first += MOST_AT_ONCE) {
        int some = (int)(count - first < MOST_AT_ONCE ? count - first : MOST_AT_ONCE);
        int code = PMPI_Reduce_local(element(source, first, extent), element(target, first, extent), some,
                                     operation->elements.type, operation->call.op);
        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

static int transport_copy(void *user, const void *source, void *target, size_t count)
{
    struct operation *operation = user;
    const struct shape *elements = &operation->elements;
    if (elements->is_dense) {
        memmove(target, source, count * elements->bytes);
        return MPI_SUCCESS;
    }
    char *between = make_room(&operation->copying, count * elements->bytes);
    int code = pack(operation, (struct view){(void *)source, count, elements->type}, between, 0);
    return code == MPI_SUCCESS ? pack(operation, (struct view){target, count, elements->type}, between, 1) : code;
}

static const hocket_transport transport = {transport_send, transport_receive, transport_test, transport_reduce,
                                           transport_copy};

/* Communicators */

static const char *reason_against(MPI_Comm comm)
{
    int is_inter, ranks;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        return "an intercommunicator";
    MPI_Group group, world;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &ranks);
    int *numbers = grown(NULL, sizeof(int) * 2 * (size_t)ranks), *translated = numbers + ranks;
    for (int i = 0; i < ranks; i++)
        numbers[i] = i;
    PMPI_Group_translate_ranks(group, ranks, numbers, world, translated);
    const char *reason = NULL;
    for (int i = 0; i < ranks; i++)
        if (translated[i] == MPI_UNDEFINED)
            reason = "has processes of another MPI_COMM_WORLD";
    free(numbers);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return reason;
}

/* The communicator, or a call that was started on it, is gone. */
static void release_communicator(struct communicator *state)
{
    if (__atomic_sub_fetch(&state->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (state->private_comm != MPI_COMM_NULL)
        PMPI_Comm_free(&state->private_comm);
    for (struct operation *next, *operation = state->idle; operation; operation = next) {
        next = operation->next;
        free(operation->packed_input.bytes);
        free(operation->packed_result.bytes);
        free(operation->copying.bytes);
        free(operation->messages);
        free(operation);
    }
    if (state->engine)
        hocket_engine_free(state->engine);
    pthread_mutex_destroy(&state->lock);
    free(state->counts);
    free(state);
}

static int free_communicator(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    ((struct communicator *)value)->is_freed = 1;
    __atomic_add_fetch(&shim.freed_communicators, 1, __ATOMIC_RELAXED);
    release_communicator(value);
    return MPI_SUCCESS;
}

static struct communicator *new_communicator(MPI_Comm comm)
{
    struct communicator *state = grown(NULL, sizeof *state);
    *state = (struct communicator){.private_comm = MPI_COMM_NULL, .users = 1};
    pthread_mutex_init(&state->lock, NULL);
    state->reason = reason_against(comm);
    if (!state->reason) {
        PMPI_Comm_rank(comm, &state->rank);
        PMPI_Comm_size(comm, &state->ranks);
        state->engine = hocket_engine_new(state->rank, state->ranks, &transport);
        state->counts = grown(NULL, sizeof(size_t) * (size_t)state->ranks);
    }
    return state;
}

/* Creates the private communicator, without the attributes: their functions belong to the program. All ranks call this
 * in the same order, and it waits for them. Returns false if MPI cannot create it. */
static int has_private(MPI_Comm comm, struct communicator *state)
{
    MPI_Errhandler handler;
    MPI_Group group;
    if (state->private_comm != MPI_COMM_NULL)
        return 1;
    PMPI_Comm_get_errhandler(comm, &handler);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Comm_group(comm, &group);
    int code = PMPI_Comm_create(comm, group, &state->private_comm);
    PMPI_Group_free(&group);
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    if (code == MPI_SUCCESS) {
        PMPI_Comm_set_errhandler(state->private_comm, MPI_ERRORS_RETURN);
    } else {
        state->reason = "it cannot be duplicated";
        state->private_comm = MPI_COMM_NULL;
    }
    return code == MPI_SUCCESS;
}

/* The state of a communicator; NULL if it is none. */
static struct communicator *state_of(MPI_Comm comm)
{
    REMEMBERED struct {
        MPI_Comm comm;
        struct communicator *state;
        unsigned freed;
    } last;
    struct communicator *state;
    int found = -1;
    unsigned freed = __atomic_load_n(&shim.freed_communicators, __ATOMIC_RELAXED);
    if (last.state && last.comm == comm && last.freed == freed)
        return last.state;
    PMPI_Comm_get_attr(comm, shim.keyval, &state, &found);
    if (found < 0)
        return NULL;
    if (!found) {
        state = new_communicator(comm);
        PMPI_Comm_set_attr(comm, shim.keyval, state);
    }
    last.comm = comm;
    last.state = state;
    last.freed = freed;
    return state;
}

/* Makes a private communicator for a blocking call, the first that has an algorithm. */
static int has_private_for(struct call *call, struct communicator *state)
{
    shim_meet(call->comm);
    call->reason = has_private(call->comm, state) ? NULL : state->reason;
    return !call->reason;
}

void shim_meet(MPI_Comm comm)
{
    MPI_Request request;
    if (shim_may_be_active(comm) && PMPI_Ibarrier(comm, &request) == MPI_SUCCESS)
        shim_wait(&request, MPI_STATUS_IGNORE);
}

void shim_meet_group(MPI_Comm comm, MPI_Group group)
{
    struct communicator *state = shim_may_be_active(comm) ? state_of(comm) : NULL;
    MPI_Group all;
    int rank, ranks, tag = (int)shim.most_operations * 2 * TAGS_PER_OPERATION;
    if (!state || state->private_comm == MPI_COMM_NULL || group == MPI_GROUP_NULL)
        return;
    PMPI_Group_rank(group, &rank);
    PMPI_Group_size(group, &ranks);
    PMPI_Comm_group(comm, &all);
    for (int distance = 1; rank != MPI_UNDEFINED && distance < ranks; distance *= 2) {
        int peers[2], ends[2] = {(rank + distance) % ranks, (rank - distance + ranks) % ranks};
        MPI_Request requests[2];
        PMPI_Group_translate_ranks(group, 2, ends, all, peers);
        PMPI_Isend(NULL, 0, MPI_BYTE, peers[0], tag, state->private_comm, &requests[0]);
        PMPI_Irecv(NULL, 0, MPI_BYTE, peers[1], tag, state->private_comm, &requests[1]);
        shim_wait(&requests[0], MPI_STATUS_IGNORE);
        shim_wait(&requests[1], MPI_STATUS_IGNORE);
    }
    PMPI_Group_free(&all);
}

void shim_made(MPI_Comm comm)
{
    if (shim_may_be_active(comm))
        has_private(comm, state_of(comm));
}

/* Operations */

static struct operation *take_operation(struct communicator *state)
{
    struct operation *operation = state->idle;
    if (operation) {
        state->idle = operation->next;
        return operation;
    }
    operation = grown(NULL, sizeof *operation);
    *operation = (struct operation){.comm = state};
    return operation;
}

/* A type that stays when the caller frees its own. */
static MPI_Datatype held(MPI_Datatype type)
{
    if (type != MPI_DATATYPE_NULL && !is_named(type))
        PMPI_Type_dup(type, &type);
    return type;
}

static void hold_types(struct operation *operation)
{
    struct call *call = &operation->call;
    operation->callers_types[0] = call->input.type;
    operation->callers_types[1] = call->result.type;
    call->input.type = held(call->input.type);
    call->result.type = held(call->result.type);
    if (call->op != MPI_OP_NULL)
        operation->elements.type = call->result.type;
}

static void release(MPI_Datatype held, MPI_Datatype callers)
{
    if (held != callers)
        PMPI_Type_free(&held);
}

static void keep_operation(struct operation *operation)
{
    struct communicator *state = operation->comm;
    if (operation->call.is_nonblocking) {
        release(operation->call.input.type, operation->callers_types[0]);
        release(operation->call.result.type, operation->callers_types[1]);
    }
    lock(&state->lock);
    hocket_finish(state->engine, operation->program);
    operation->next = state->idle;
    state->idle = operation;
    unlock(&state->lock);
}

/* Where the engine finds a view's bytes: there, or packed. */
static int bytes_of(const struct operation *operation, struct view view, struct room *room, int is_read, void **at)
{
    *at = view.address;
    if (view.count == 0 || shape_of(view.type)->is_dense)
        return MPI_SUCCESS;
    *at = make_room(room, view.count * shape_of(view.type)->bytes);
    return is_read ? pack(operation, view, *at, 0) : MPI_SUCCESS;
}

/* Of a call in place, the part of the result that holds input, packed where it belongs. */
static int pack_own_part(struct operation *operation, char *packed)
{
    struct call *call = &operation->call;
    struct view own = call->result;
    if (own.count == 0 || shape_of(own.type)->is_dense)
        return MPI_SUCCESS;
    if (call->collective == HOCKET_ALLGATHER || call->collective == HOCKET_GATHER) {
        struct shape shape = *shape_of(own.type);
        own.count /= (size_t)operation->comm->ranks;
        own.address = element(own.address, own.count * (size_t)operation->comm->rank, shape.layout.extent);
        packed += own.count * shape.bytes * (size_t)operation->comm->rank;
    }
    return pack(operation, own, packed, 0);
}

/* Takes the algorithm for a call; NULL, and why it is left to MPI, if there is none. All ranks do so in the same order. */
static struct operation *prepare(struct communicator *state, struct call *call)
{
    struct shape elements = {MPI_BYTE, 1, 1, 1, {1, 0, 1}};
    int commutes = 1;
    /* A nonblocking call must not wait for the private communicator. All ranks decide alike, since all have made the same
     * calls before. */
    if (call->is_nonblocking && state->private_comm == MPI_COMM_NULL) {
        call->reason = "no blocking call on its communicator before";
        return NULL;
    }
    if (call->op != MPI_OP_NULL) {
        PMPI_Op_commutative(call->op, &commutes);
        elements = *shape_of(call->result.type);
        call->reason = elements.bytes ? NULL : "a type without data";
        if (call->reason)
            return NULL;
    }
    hocket_call description = {.collective = call->collective,
                               .is_nonblocking = call->is_nonblocking,
                               .root = call->root,
                               .in_place = call->in_place,
                               .commutative = commutes,
                               .count = call->count,
                               .counts = call->counts,
                               .element_bytes = elements.bytes,
                               .layout = elements.layout};
    struct operation *operation = NULL;
    lock(&state->lock);
    hocket_operation *program = hocket_prepare(state->engine, &description, &call->reason);
    if (program) {
        operation = take_operation(state);
        operation->program = program;
        operation->call = *call;
        operation->elements = elements;
        operation->sequence = state->sequences[call->is_nonblocking]++;
        operation->is_done = 0;
        operation->error = call->code;
    }
    unlock(&state->lock);
    if (!operation || state->private_comm != MPI_COMM_NULL || has_private_for(call, state))
        return operation;
    keep_operation(operation);
    return NULL;
}

/* Whether the result is this rank's data, and so not to be written: that of the root of a broadcast. */
static int gives_result(const struct operation *operation)
{
    return operation->call.collective == HOCKET_BROADCAST && operation->call.root == operation->comm->rank;
}

static struct view block_of(struct view view, int blocks, int index)
{
    view.count /= (size_t)blocks;
    view.address = element(view.address, view.count * (size_t)index, shape_of(view.type)->layout.extent);
    return view;
}

/* For a rank that receives blocks of another length than it sends: moves its own blocks to their places, cut if they do
 * not fit. The rest is done in place. */
static void move_own_blocks(struct operation *operation)
{
    struct call *call = &operation->call;
    int rank = operation->comm->rank, ranks = operation->comm->ranks;
    int is_alltoall = call->collective == HOCKET_ALLTOALL, is_scatter = call->collective == HOCKET_SCATTER;
    for (int i = is_alltoall ? 0 : rank; i < (is_alltoall ? ranks : rank + 1); i++) {
        struct view from = is_alltoall || is_scatter ? block_of(call->input, ranks, i) : call->input;
        struct view into = is_scatter ? call->result : block_of(call->result, ranks, i);
        note(operation, send_to_self(operation, from, into));
    }
    struct view *moved = is_scatter ? &call->result : &call->input;
    moved->address = NULL;
    moved->count = 0;
}

/* Starts the program on the caller's buffers, or on packed ones. */
static void start(struct operation *operation)
{
    struct call *call = &operation->call;
    if (call->is_uneven)
        move_own_blocks(operation);
    void *input = call->input.address, *result = call->result.address;
    if (call->op == MPI_OP_NULL) {
        note(operation, bytes_of(operation, call->input, &operation->packed_input, 1, &input));
        note(operation, bytes_of(operation, call->result, &operation->packed_result, 0, &result));
        if (call->in_place || gives_result(operation))
            note(operation, pack_own_part(operation, result));
    }
    hocket_start(operation->program, input, result, operation);
}

/* Goes on with an operation; whether it has ended. */
static int advance(struct operation *operation, int may_wait)
{
    struct call *call = &operation->call;
    int state = hocket_advance(operation->program, may_wait, &call->code);
    operation->is_done = state == HOCKET_DONE;
    if (!operation->is_done)
        return state != HOCKET_WAITS;
    if (call->op == MPI_OP_NULL && call->result.count && !shape_of(call->result.type)->is_dense &&
        !gives_result(operation))
        note(operation, pack(operation, call->result, operation->packed_result.bytes, 1));
    call->code = operation->error;
    return 1;
}

static size_t bytes_moved(const struct operation *operation)
{
    const struct call *call = &operation->call;
    return (call->counts ? call->result.count : call->count) * operation->elements.bytes;
}

/* Prints one line about a call that ran and was wrong: its error, or, once per process, what was wrong if MPI reports no
 * error. */
static void tell_wrong(const struct call *call)
{
    static int has_told;
    char error[MPI_MAX_ERROR_STRING] = "no error";
    int class, length;
    if (call->code == MPI_SUCCESS && (!call->wrong || __atomic_exchange_n(&has_told, 1, __ATOMIC_RELAXED)))
        return;
    if (call->code != MPI_SUCCESS) {
        PMPI_Error_class(call->code, &class);
        PMPI_Error_string(class, error, &length);
    }
    print_line("rank %d: %s: %s%s%s", shim.world_rank, call->function, call->wrong ? call->wrong : "",
               call->wrong ? ": " : "", error);
}

static void log_ran(struct operation *operation)
{
    if (operation->call.wrong || operation->call.code != MPI_SUCCESS)
        tell_wrong(&operation->call);
    if (!shim.log_summary && !shim.log_calls)
        return;
    char algorithm[128];
    double time_s = PMPI_Wtime() - operation->start_s;
    hocket_algorithm(operation->program, algorithm, sizeof algorithm);
    if (shim.log_summary)
        hocket_log_ran(operation->call.function, algorithm, bytes_moved(operation), time_s);
    if (shim.log_calls)
        print_line("rank %d: %s, %zu B, %d ranks: %s, %.3f us", shim.world_rank, operation->call.function,
                   bytes_moved(operation), operation->comm->ranks, algorithm, 1e6 * time_s);
}

static void passed(const struct call *call)
{
    if (shim.log_summary)
        hocket_log_passed(call->function, call->reason);
    if (shim.log_calls)
        print_line("rank %d: %s left to MPI: %s", shim.world_rank, call->function, call->reason);
}

/* Keeps the operations whose requests are gone. */
static void reap(void)
{
    if (!__atomic_load_n(&shim.ended, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&shim.ended_lock);
    struct operation *next, *operation = shim.ended;
    __atomic_store_n(&shim.ended, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&shim.ended_lock);
    for (; operation; operation = next) {
        struct communicator *comm = operation->comm;
        next = operation->next;
        if (operation->is_done)
            keep_operation(operation);
        release_communicator(comm);
    }
}

/* An operation with an algorithm for the call; NULL if it is left to MPI. A nonblocking one holds the caller's types. */
static struct operation *operation_for(struct call *call)
{
    reap();
    if (!call->reason && !shim.is_ready)
        call->reason = "MPI_Init was not called";
    if (!call->reason)
        call->reason = shim.off;
    if (!call->reason && !has_rule(call->collective, call->is_nonblocking))
        call->reason = "no rule for it";
    struct communicator *state = call->reason || call->comm == MPI_COMM_NULL ? NULL : state_of(call->comm);
    if (!call->reason)
        call->reason = state ? state->reason : "no communicator";
    double start_s = shim.log_summary ? PMPI_Wtime() : 0;
    struct operation *operation = call->reason ? NULL : prepare(state, call);
    if (!operation) {
        passed(call);
        return NULL;
    }
    operation->start_s = start_s;
    if (call->is_nonblocking)
        hold_types(operation);
    start(operation);
    return operation;
}

int shim_run(struct call *call)
{
    struct operation *operation = operation_for(call);
    if (!operation)
        return 0;
    while (!advance(operation, !shim_polls())) {
        shim_progress();
        if (shim.is_crowded)
            sched_yield();
    }
    log_ran(operation);
    call->code = operation->call.code;
    if (operation->is_done)
        keep_operation(operation);
    if (call->code != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(call->comm, call->code);
    return 1;
}

size_t *shim_counts(const struct call *call)
{
    int is_taken = shim.is_ready && !shim.off && has_rule(call->collective, call->is_nonblocking);
    struct communicator *state = is_taken ? state_of(call->comm) : NULL;
    return state ? state->counts : NULL;
}

int shim_place(MPI_Comm comm, int *rank, int *ranks)
{
    int is_inter = 1;
    if (!shim.is_ready || comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter)
        return 0;
    PMPI_Comm_rank(comm, rank);
    PMPI_Comm_size(comm, ranks);
    return 1;
}

/* Calls that were started */

/* While a thread waits for a request or tests it: the result of the call by Hocket that the request belongs to. */
REMEMBERED struct {
    int is_asked, code;
    MPI_Comm comm;
} ending;

static int query_request(void *state, MPI_Status *status)
{
    struct operation *operation = state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    if (operation->call.code == MPI_SUCCESS || !ending.is_asked)
        return operation->call.code;
    ending.code = operation->call.code;
    ending.comm = operation->comm->is_freed ? MPI_COMM_SELF : operation->call.comm;
    return MPI_SUCCESS;
}

/* Waits for a request or tests it. Its error goes to the error handler of its communicator; MPI would call the handler of
 * another communicator. */
static int end_request(MPI_Request *request, int may_wait, int *flag, MPI_Status *status)
{
    ending.is_asked = 1;
    ending.code = MPI_SUCCESS;
    int code = may_wait ? PMPI_Wait(request, status) : PMPI_Test(request, flag, status);
    ending.is_asked = 0;
    if (code != MPI_SUCCESS || ending.code == MPI_SUCCESS)
        return code;
    PMPI_Comm_call_errhandler(ending.comm, ending.code);
    return ending.code;
}

/* MPI must not be called from here: what is to be freed waits. */
static int free_request(void *state)
{
    struct operation *operation = state;
    pthread_mutex_lock(&shim.ended_lock);
    operation->next = shim.ended;
    __atomic_store_n(&shim.ended, operation, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&shim.ended_lock);
    return MPI_SUCCESS;
}

static int cancel_request(void *state, int is_complete)
{
    (void)state, (void)is_complete;
    return MPI_SUCCESS;
}

int shim_may_be_active(MPI_Comm comm)
{
    if (!shim.is_ready || shim.off || comm == MPI_COMM_NULL || !has_rule(HOCKET_ANY, 1))
        return 0;
    struct communicator *state = state_of(comm);
    return state && !state->reason;
}

static int is_active(void)
{
    return __atomic_load_n(&shim.active_count, __ATOMIC_RELAXED) > 0;
}

int shim_polls(void)
{
    return is_active() || (shim.has_threads && has_rule(HOCKET_ANY, 1));
}

void shim_progress(void)
{
    if (!is_active() || pthread_mutex_trylock(&shim.lock))
        return;
    for (struct operation **place = &shim.active; *place;) {
        struct operation *operation = *place;
        if (!advance(operation, 0)) {
            place = &operation->next;
            continue;
        }
        *place = operation->next;
        log_ran(operation);
        __atomic_sub_fetch(&shim.active_count, 1, __ATOMIC_RELAXED);
        PMPI_Grequest_complete(operation->generalized);
    }
    while (!shim.active && shim.freed_count)
        PMPI_Op_free(&shim.freed_ops[--shim.freed_count]);
    pthread_mutex_unlock(&shim.lock);
}

int shim_start(struct call *call, MPI_Request *request)
{
    struct operation *operation = request ? operation_for(call) : NULL;
    if (!operation)
        return 0;
    call->code = PMPI_Grequest_start(query_request, free_request, cancel_request, operation, request);
    operation->generalized = *request;
    operation->next = NULL;
    __atomic_add_fetch(&operation->comm->users, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&shim.lock);
    struct operation **last = &shim.active;
    while (*last)
        last = &(*last)->next;
    *last = operation;
    __atomic_add_fetch(&shim.active_count, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&shim.lock);
    shim_progress();
    return 1;
}

static struct communicator *known_state_of(MPI_Comm comm)
{
    struct communicator *state;
    int found = 0;
    if (shim.is_ready && comm != MPI_COMM_NULL)
        PMPI_Comm_get_attr(comm, shim.keyval, &state, &found);
    return found ? state : NULL;
}

MPI_Comm shim_revoked(MPI_Comm comm)
{
    struct communicator *state = known_state_of(comm);
    if (!state)
        return MPI_COMM_NULL;
    state->reason = "it is revoked";
    return state->private_comm;
}

static int is_in_use(const struct communicator *state)
{
    pthread_mutex_lock(&shim.lock);
    const struct operation *operation = shim.active;
    while (operation && operation->comm != state)
        operation = operation->next;
    pthread_mutex_unlock(&shim.lock);
    return operation != NULL;
}

void shim_settle(MPI_Comm comm)
{
    struct communicator *state = is_active() ? known_state_of(comm) : NULL;
    while (state && is_in_use(state))
        shim_progress();
    reap();
}

static int is_reducing(MPI_Op op)
{
    const struct operation *operation = shim.active;
    while (operation && operation->call.op != op)
        operation = operation->next;
    return operation != NULL;
}

int shim_free_op(MPI_Op *op)
{
    pthread_mutex_lock(&shim.lock);
    if (!op || *op == MPI_OP_NULL || !is_reducing(*op)) {
        pthread_mutex_unlock(&shim.lock);
        return PMPI_Op_free(op);
    }
    shim.freed_ops = grown(shim.freed_ops, sizeof(MPI_Op) * (size_t)(shim.freed_count + 1));
    shim.freed_ops[shim.freed_count++] = *op;
    *op = MPI_OP_NULL;
    pthread_mutex_unlock(&shim.lock);
    return MPI_SUCCESS;
}

int shim_wait(MPI_Request *request, MPI_Status *status)
{
    int flag = 0, code = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS) {
        if (!shim_polls())
            return end_request(request, 1, &flag, status);
        shim_progress();
        code = end_request(request, 0, &flag, status);
    }
    return code;
}

int shim_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    shim_progress();
    return end_request(request, 0, flag, status);
}

/* Beginning and end */

/* The length of a file of text, or -1: other than regular files might have no end, or make the program wait for one. */
static int read_text(const char *file, char **text)
{
    struct stat about;
    if (stat(file, &about) || !S_ISREG(about.st_mode) || about.st_size > MOST_AT_ONCE)
        return -1;
    FILE *stream = fopen(file, "rb");
    if (!stream)
        return -1;
    *text = grown(NULL, (size_t)about.st_size);
    size_t length = fread(*text, 1, (size_t)about.st_size, stream);
    fclose(stream);
    return memchr(*text, 0, length) ? -1 : (int)length;
}

/* The rules as rank 0 reads them, for all ranks: their files may differ, their choices must not. */
static char *shared_text(const char *file, char *problem, size_t room)
{
    int length;
    char *text = NULL;
    if (shim.world_rank == 0)
        length = read_text(file, &text);
    PMPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (length < 0) {
        snprintf(problem, room, "HOCKET_RULES: %s: cannot be read, expected a file of rules", file);
        free(text);
        return NULL;
    }
    text = grown(text, (size_t)length + 1);
    PMPI_Bcast(text, length, MPI_CHAR, 0, MPI_COMM_WORLD);
    text[length] = 0;
    return text;
}

static void read_log(char *problem, size_t room)
{
    const char *log = getenv("HOCKET_LOG");
    if (!log || !*log)
        return;
    shim.log_calls = strcmp(log, "calls") == 0;
    shim.log_summary = shim.log_calls || strcmp(log, "summary") == 0;
    if (!shim.log_summary)
        snprintf(problem, room, "HOCKET_LOG: got \"%s\", expected summary or calls", log);
}

static void read_rules(char *problem, size_t room)
{
    const char *file = getenv("HOCKET_RULES");
    int is_set = file && *file;
    PMPI_Bcast(&is_set, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!is_set)
        return;
    char *text = shared_text(file ? file : "", problem, room);
    if (text)
        hocket_set_rules(text, file ? file : "HOCKET_RULES", problem, room);
    free(text);
}

void hocket_count_calls(int are_counted)
{
    shim.log_summary = are_counted;
}

static int is_crowded(void)
{
    MPI_Comm here;
    int ranks;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    PMPI_Comm_size(here, &ranks);
    PMPI_Comm_free(&here);
    return ranks > sysconf(_SC_NPROCESSORS_ONLN);
}

void shim_leave_started(void)
{
    shim.leaves_started = 1;
}

void shim_begin(void)
{
    static char problem[512];
    int *most, is_set, level;
    if (shim.is_ready)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &shim.world_rank);
    shim.is_crowded = is_crowded();
    PMPI_Query_thread(&level);
    shim.has_threads = level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_set);
    shim.most_operations = (unsigned)(is_set ? *most : 32767) / TAGS_PER_OPERATION / 2 - 1;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_communicator, &shim.keyval, NULL);
    read_rules(problem, sizeof problem);
    if (!*problem)
        read_log(problem, sizeof problem);
    int least[] = {*problem ? shim.world_rank : INT_MAX, !shim.leaves_started};
    PMPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    shim.leaves_started = !least[1];
    if (least[0] != INT_MAX)
        shim.off = "switched off by an error";
    if (least[0] == shim.world_rank)
        print_line("%s; all calls are left to MPI", problem);
    PMPI_Comm_dup(MPI_COMM_SELF, &shim.judge);
    PMPI_Comm_set_errhandler(shim.judge, MPI_ERRORS_RETURN);
    shim.is_ready = 1;
    shim_made(MPI_COMM_WORLD);
    shim_made(MPI_COMM_SELF);
}

static void print_summary(void)
{
    if (!shim.log_summary || shim.has_summary || shim.world_rank != 0)
        return;
    shim.has_summary = 1;
    size_t length = hocket_log_summary(NULL, 0);
    char *text = grown(NULL, length + 1);
    hocket_log_summary(text, length + 1);
    fprintf(stderr, "hocket: rank 0:\n%s", text);
    free(text);
}

void shim_end(void)
{
    if (!shim.is_ready)
        return;
    while (is_active())
        shim_progress();
    reap();
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int i = 0; i < 2; i++) {
        void *state;
        int found;
        PMPI_Comm_get_attr(comms[i], shim.keyval, &state, &found);
        if (found)
            PMPI_Comm_delete_attr(comms[i], shim.keyval);
    }
    PMPI_Comm_free(&shim.judge);
    shim.is_ready = 0;
    print_summary();
}

#ifdef HAS_SESSIONS
void shim_begin_session(MPI_Session session)
{
    static char problem[512];
    MPI_Group world;
    shim.sessions++;
    if (shim.is_ready || PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS)
        return;
    PMPI_Group_rank(world, &shim.world_rank);
    PMPI_Group_free(&world);
    read_log(problem, sizeof problem);
    if (*problem && shim.world_rank == 0)
        print_line("%s", problem);
}

void shim_end_session(void)
{
    if (--shim.sessions == 0 && !shim.is_ready)
        print_summary();
}
#endif
