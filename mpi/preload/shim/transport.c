/* The functions that libhocket calls. This file owns the messages under way and their tags. */
#include "transport.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

void note(struct operation *operation, int code)
{
    if (operation->error == MPI_SUCCESS)
        operation->error = code;
}

char *make_room(struct room *room, size_t bytes)
{
    if (room->size < bytes) {
        room->bytes = resize(room->bytes, bytes);
        room->size = bytes;
    }
    return room->bytes;
}

int send_to_self(const struct operation *operation, struct view from, struct view into)
{
    struct large_count sent, received;
    int self = operation->comm->rank, tag = operation->first_tag, code = count_as(from.count, from.type, &sent);
    if (code != MPI_SUCCESS)
        return code;
    code = count_as(into.count, into.type, &received);
    if (code == MPI_SUCCESS) {
        code = PMPI_Sendrecv(from.address, sent.count, sent.type, self, tag, into.address, received.count,
                             received.type, self, tag, operation->comm->private_comm, MPI_STATUS_IGNORE);
        release_count(&received);
    }
    release_count(&sent);
    return code;
}

/* Packs or unpacks as many elements at a time as an int counts. MPICH 4.0 packs nothing at MPI_BOTTOM. MPI_Pack cannot
 * pack an element of more bytes than an int counts. */
int pack(const struct operation *operation, struct view view, char *packed, int unpacks)
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
        struct view elements = {at, (size_t)count, view.type, 0}, flat = {there, (size_t)count * bytes, MPI_BYTE, 0};
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

/* Makes room for one more message. */
static struct message *next_message(struct operation *operation)
{
    if (operation->under_way == operation->message_room) {
        size_t bytes = sizeof(struct message) * (size_t)operation->message_room;
        int are_few = operation->messages == operation->few;
        operation->messages = resize(are_few ? NULL : operation->messages, 2 * bytes);
        if (are_few)
            memcpy(operation->messages, operation->few, bytes);
        operation->message_room *= 2;
    }
    return &operation->messages[operation->under_way];
}

/* Number of messages that a pipeline has under way to a peer. MPI may complete a send before its message is received,
 * and MPICH searches all messages that wait. So each such number of messages, one is sent in synchronous mode, and the
 * sender waits until it is received where the program waits for its send. No algorithm needs sends that complete early:
 * long ones never do. */
enum { WINDOW = 64 };

static int completes_when_received(struct operation *operation, int peer)
{
    return ++operation->sends[peer % PEERS_APART] % WINDOW == 0;
}

/* Starts to send to a peer or to receive from it, by MPI. */
static int start_message(struct operation *operation, int sends, uint32_t slot, void *at, size_t count, int peer,
                         int tag)
{
    struct large_count elements;
    size_t bytes = count * operation->call->asked.element_bytes;
    int are_bytes = operation->type == MPI_BYTE || !count;
    int code = count_as(are_bytes ? bytes : count, are_bytes ? MPI_BYTE : operation->type, &elements);
    if (code != MPI_SUCCESS)
        return code;
    struct message *message = next_message(operation);
    *message = (struct message){MPI_REQUEST_NULL, slot, !sends, bytes, .at = at, .peer = peer, .tag = tag};
    MPI_Comm comm = operation->comm->private_comm;
    if (!sends)
        code = PMPI_Irecv(at, elements.count, elements.type, peer, tag, comm, &message->request);
    else if (completes_when_received(operation, peer))
        code = PMPI_Issend(at, elements.count, elements.type, peer, tag, comm, &message->request);
    else
        code = PMPI_Isend(at, elements.count, elements.type, peer, tag, comm, &message->request);
    operation->under_way += code == MPI_SUCCESS;
    release_count(&elements);
    return code;
}

/* The same by shared memory. */
static int start_shared(struct operation *operation, int sends, uint32_t slot, void *at, size_t bytes, int peer, int tag)
{
    uint32_t number = 0;
    if (sends && put(operation->memory, peer, tag, at, bytes, &number))
        return HOCKET_HAS_LEFT;
    struct message message = {MPI_REQUEST_NULL, slot, !sends, bytes, at, peer, tag, 1, number};
    *next_message(operation) = message;
    operation->under_way++;
    return MPI_SUCCESS;
}

static int begin(struct operation *operation, int sends, uint32_t slot, void *at, size_t count, int peer, uint32_t tag)
{
    if (tag >= TAGS_PER_OPERATION)
        return MPI_ERR_TAG;
    int full_tag = operation->first_tag + (int)tag;
    size_t bytes = count * operation->call->asked.element_bytes;
    if (operation->memory && peer != MPI_ANY_SOURCE && shares_memory_with(operation->memory, peer) && bytes <= MOST_SHARED)
        return start_shared(operation, sends, slot, at, bytes, peer, full_tag);
    return start_message(operation, sends, slot, at, count, peer, full_tag);
}

static int transport_send(void *user, uint32_t slot, const void *data, size_t count, int32_t to, uint32_t tag)
{
    return begin(user, 1, slot, (void *)data, count, to, tag);
}

static int transport_receive(void *user, uint32_t slot, void *into, size_t count, int32_t from, uint32_t tag)
{
    return begin(user, 0, slot, into, count, from == HOCKET_ANY_SOURCE ? MPI_ANY_SOURCE : from, tag);
}

/* The error of MPI's own broadcast on a rank that expects more data than it gets. */
#ifdef OPEN_MPI
enum { ERROR_OF_SHORT_BROADCAST = MPI_SUCCESS };
#else
enum { ERROR_OF_SHORT_BROADCAST = MPI_ERR_OTHER };
#endif

static void note_received(struct operation *operation, const struct message *message, int source, size_t bytes,
                          hocket_ended *ended)
{
    ended->source = (uint32_t)source;
    ended->count = bytes / operation->call->asked.element_bytes;
    if (operation->call->asked.collective == HOCKET_BROADCAST && bytes != message->room)
        note(operation, ERROR_OF_SHORT_BROADCAST);
}

static int is_truncated(int code)
{
    int class = MPI_SUCCESS;
    PMPI_Error_class(code, &class);
    return class == MPI_ERR_TRUNCATE;
}

/* Tests messages one by one: MPI would report an error of several to the error handler of MPI_COMM_WORLD. */
static int has_ended(struct operation *operation, struct message *message, hocket_ended *ended, int *code)
{
    MPI_Status status;
    MPI_Count bytes = 0;
    int flag = 0;
    *code = PMPI_Test(&message->request, &flag, message->is_receive ? &status : MPI_STATUS_IGNORE);
    if (*code != MPI_SUCCESS && message->is_receive && is_truncated(*code)) {
        note(operation, MPI_ERR_TRUNCATE);
        *code = MPI_SUCCESS;
        return 1;
    }
    if (*code != MPI_SUCCESS || !flag)
        return 0;
    if (message->is_receive) {
        PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        note_received(operation, message, status.MPI_SOURCE, bytes > 0 ? (size_t)bytes : 0, ended);
    }
    return 1;
}

static int has_ended_shared(struct operation *operation, const struct message *message, hocket_ended *ended)
{
    struct node_memory *memory = operation->comm->memory;
    size_t bytes;
    if (!message->is_receive)
        return has_left(memory, message->peer, message->number);
    if (!take(memory, message->peer, message->tag, message->at, message->room, &bytes))
        return 0;
    if (bytes > message->room)
        note(operation, MPI_ERR_TRUNCATE);
    else
        note_received(operation, message, message->peer, bytes, ended);
    return 1;
}

/* Advances MPI, and looks for a message on the other way, by MPI or by shared memory. Ranks that give a call different
 * counts may disagree on the way. */
static int look_elsewhere(struct operation *operation, struct message *message)
{
    struct node_memory *memory = operation->comm->memory;
    MPI_Comm comm = operation->comm->private_comm;
    int flag = 0, code = MPI_SUCCESS;
    if (message->is_shared)
        code = PMPI_Iprobe(message->peer, message->tag, comm, &flag, MPI_STATUS_IGNORE);
    else if (!message->is_receive || message->peer == MPI_ANY_SOURCE || !shares_memory_with(memory, message->peer))
        return MPI_SUCCESS;
    else if (has_arrived(memory, message->peer, message->tag)) {
        PMPI_Cancel(&message->request);
        message->is_shared = 1;
        return PMPI_Wait(&message->request, MPI_STATUS_IGNORE);
    }
    if (!flag || !message->is_receive)
        return code;
    message->is_shared = 0;
    return PMPI_Irecv(message->at, (int)message->room, MPI_BYTE, message->peer, message->tag, comm, &message->request);
}

/* Number of vain looks before look_elsewhere. */
enum { LOOKS_BETWEEN = 256 };

/* Takes the messages that have ended; the others keep their order. Only blocking calls look into shared memory: another
 * thread may advance a nonblocking call of the same communicator. */
static int look(struct operation *operation, hocket_ended *ended, size_t room, size_t *count)
{
    int may_share = operation->call->form == BLOCKING && operation->comm->memory;
    int is_elsewhere = may_share && ++operation->looks % LOOKS_BETWEEN == 0;
    int remaining = 0, code = MPI_SUCCESS;
    for (int i = 0; i < operation->under_way; i++) {
        struct message *message = &operation->messages[i];
        hocket_ended *one = &ended[*count];
        if (code == MPI_SUCCESS && is_elsewhere)
            code = look_elsewhere(operation, message);
        if (code == MPI_SUCCESS && *count < room) {
            *one = (hocket_ended){.slot = message->slot};
            if (message->is_shared ? has_ended_shared(operation, message, one) : has_ended(operation, message, one, &code)) {
                ++*count;
                continue;
            }
        }
        if (remaining++ < i)
            operation->messages[remaining - 1] = *message;
    }
    operation->under_way = remaining;
    return code;
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
    ptrdiff_t extent = operation->call->asked.layout.extent;
    if (operation->call->is_refused)
        return MPI_SUCCESS;
    for (size_t first = 0; first < count; first += MOST_AT_ONCE) {
        int some = (int)(count - first < MOST_AT_ONCE ? count - first : MOST_AT_ONCE);
        int code = PMPI_Reduce_local(element(source, first, extent), element(target, first, extent), some,
                                     operation->type, operation->call->op);
        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

static int transport_copy(void *user, const void *source, void *target, size_t count)
{
    struct operation *operation = user;
    size_t bytes = count * operation->call->asked.element_bytes;
    if (operation->is_dense) {
        memmove(target, source, bytes);
        return MPI_SUCCESS;
    }
    char *between = make_room(&operation->copying, bytes);
    int code = pack(operation, (struct view){(void *)source, count, operation->type, 0}, between, 0);
    return code == MPI_SUCCESS ? pack(operation, (struct view){target, count, operation->type, 0}, between, 1) : code;
}

const hocket_transport transport = {transport_send, transport_receive, transport_test, transport_reduce,
                                    transport_copy};
