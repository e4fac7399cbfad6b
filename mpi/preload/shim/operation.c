/* Operations. This file chooses the algorithm of a call, and packs data that the algorithm cannot use in place. */
#include "operation.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "types.h"

/* Choosing an algorithm */

static int is_of_neighbors(const struct call *call)
{
    return call->asked.collective == HOCKET_NEIGHBOR_ALLGATHER || call->asked.collective == HOCKET_NEIGHBOR_ALLTOALL;
}

/* Returns why a call is left to MPI, or NULL; sets the state of its communicator. A call is left on all ranks or on
 * none: reasons depend only on values that MPI requires to agree on all ranks. */
static const char *reason_of(const struct call *call, struct communicator **state)
{
    if (!shim.is_ready)
        return "MPI_Init was not called";
    if (shim.off)
        return shim.off;
    if (!has_rule(call->asked.collective, call->asked.is_nonblocking))
        return "no rule for it";
    *state = call->comm == MPI_COMM_NULL ? NULL : state_of(call->comm);
    if (!*state)
        return "no communicator";
    /* A nonblocking call must not wait for the private communicator. All ranks have made the same calls before, so that
     * they decide alike. */
    if (!(*state)->reason && call->form == NONBLOCKING && (*state)->private_comm == MPI_COMM_NULL)
        return "no earlier blocking call on its communicator";
    if (!(*state)->reason && is_of_neighbors(call) && !call->asked.neighbors)
        return "no neighbours";
    return (*state)->reason;
}

/* Elements are moved as bytes. */
static void describe_bytes(struct operation *operation, hocket_call *asked, size_t element_bytes)
{
    operation->type = MPI_BYTE;
    operation->is_dense = 1;
    asked->element_bytes = element_bytes;
    asked->layout = (hocket_layout){(ptrdiff_t)element_bytes, 0, element_bytes};
}

/* Describes the elements of the program: of the caller's type in reductions, else bytes. */
static const char *describe_elements(struct operation *operation, struct call *call)
{
    hocket_call *asked = &call->asked;
    if (call->op == MPI_OP_NULL) {
        describe_bytes(operation, asked, 1);
        asked->commutative = 1;
        return NULL;
    }
    if (call->result.is_missing) {
        describe_bytes(operation, asked, asked->element_bytes);
        PMPI_Op_commutative(call->op, &asked->commutative);
        return NULL;
    }
    const struct shape *shape = shape_of(call->result.type);
    PMPI_Op_commutative(call->op, &asked->commutative);
    operation->type = call->result.type;
    operation->is_dense = shape->is_dense;
    asked->element_bytes = shape->bytes;
    asked->layout = shape->layout;
    return shape->bytes ? NULL : "a type without data";
}

/* Takes an operation from libhocket, and tags that no other operation under way uses; returns why it cannot, or NULL. A
 * persistent call keeps its tags. Its starts may reuse them: MPI keeps the order of messages between two ranks, and no
 * algorithm receives from any rank. */
static const char *take_operation(struct operation *operation, struct call *call, struct communicator *state)
{
    const char *reason = "its communicator has no tags left";
    lock(&state->lock);
    CHANGES(state->algorithms);
    int has_tags = call->form != PERSISTENT || state->sequences[PERSISTENT] < shim.most_operations;
    operation->program = has_tags ? hocket_prepare(state->algorithms, &call->asked, &reason) : NULL;
    if (operation->program)
        operation->first_tag = first_tag(state->sequences[call->form]++, call->form);
    unlock(&state->lock);
    return operation->program ? NULL : reason;
}

/* Returns the program to libhocket, which keeps it for the next call like this one. */
static void give_back(struct operation *operation)
{
    struct communicator *state = operation->comm;
    lock(&state->lock);
    CHANGES(state->algorithms);
    hocket_finish(state->algorithms, operation->program);
    unlock(&state->lock);
}

/* Initialises an operation without allocating memory. */
static void clear(struct operation *operation, struct communicator *state, struct call *call)
{
    operation->comm = state;
    operation->call = call;
    operation->is_done = 0;
    operation->packed_input = operation->packed_result = operation->copying = (struct room){NULL, 0};
    operation->messages = operation->few;
    operation->under_way = 0;
    operation->memory = NULL;
    operation->looks = 0;
    operation->message_room = FEW_MESSAGES;
    memset(operation->sends, 0, sizeof operation->sends);
}

static struct view without_memory(struct view view)
{
    size_t bytes = view.count ? view.count * shape_of(view.type)->bytes : 0;
    return (struct view){NULL, bytes, MPI_BYTE, 1};
}

/* After a refused call the program may reuse its buffers at once, so that this rank uses none of them. */
static void leave_buffers(struct call *call)
{
    if (!call->is_refused || call->op != MPI_OP_NULL)
        return;
    call->input = without_memory(call->input);
    call->result = without_memory(call->result);
    call->input_pieces.counts = call->result_pieces.counts = NULL;
}

int prepare(struct operation *operation, struct call *call)
{
    struct communicator *state = NULL;
    call->reason = reason_of(call, &state);
    call->start_s = is_counting() ? PMPI_Wtime() : 0;
    if (!call->reason)
        call->reason = describe_elements(operation, call);
    if (!call->reason)
        call->reason = take_operation(operation, call, state);
    if (!call->reason) {
        leave_buffers(call);
        clear(operation, state, call);
        return 1;
    }
    log_passed(call);
    return 0;
}

int leave(struct operation *operation)
{
    operation->call->reason = operation->comm->reason;
    give_back(operation);
    log_passed(operation->call);
    return 0;
}

/* Running it */

/* Returns 1 if a call has block `number`. The own block of an uneven alltoallv is left out: it was moved before. */
static int has_piece(const struct operation *operation, const struct pieces *pieces, int number)
{
    const struct call *call = operation->call;
    if (pieces->ranks)
        return pieces->ranks[number] != HOCKET_NO_RANK;
    return !(call->is_uneven && call->asked.collective == HOCKET_ALLTOALLV && number == operation->comm->rank);
}

/* Packs or unpacks all blocks; at `packed` they lie one after the other. */
static int pack_pieces(const struct operation *operation, const struct pieces *pieces, void *address, char *packed,
                       int unpacks)
{
    for (int i = 0; i < pieces->number; i++) {
        struct view view = shim_piece(pieces, address, i);
        if (view.count == 0 || !has_piece(operation, pieces, i))
            continue;
        int code = pack(operation, view, packed, unpacks);
        if (code != MPI_SUCCESS)
            return code;
        packed += view.count * shape_of(view.type)->bytes;
    }
    return MPI_SUCCESS;
}

/* Returns 1 if the blocks lie one after the other without gaps; sets `at` to the first. */
static int are_together(const struct operation *operation, const struct pieces *pieces, void *address, void **at)
{
    char *end = NULL;
    for (int i = 0; i < pieces->number; i++) {
        struct view view = shim_piece(pieces, address, i);
        if (view.count == 0 || !has_piece(operation, pieces, i))
            continue;
        if (!shape_of(view.type)->is_dense || (end && end != (char *)view.address))
            return 0;
        *at = end ? *at : view.address;
        end = (char *)view.address + view.count * shape_of(view.type)->bytes;
    }
    return 1;
}

/* The address of a view's bytes for the program: the bytes themselves, or room for a packed copy. */
static void *place_of(const struct operation *operation, struct view view, const struct pieces *pieces, struct room *room)
{
    void *at = view.address;
    size_t bytes = view.count * operation->call->asked.element_bytes;
    if (view.count == 0)
        return at;
    if (view.is_missing)
        return memset(make_room(room, bytes), 0, bytes);
    if (operation->call->op != MPI_OP_NULL)
        return at;
    if (pieces->counts ? are_together(operation, pieces, view.address, &at) : shape_of(view.type)->is_dense)
        return at;
    return make_room(room, pieces->counts ? view.count : view.count * shape_of(view.type)->bytes);
}

static int pack_view(const struct operation *operation, struct view view, const struct pieces *pieces, char *packed,
                     int unpacks)
{
    if (view.is_missing)
        return MPI_SUCCESS;
    return pieces->counts ? pack_pieces(operation, pieces, view.address, packed, unpacks)
                          : pack(operation, view, packed, unpacks);
}

/* For v-collectives: packs this rank's block, for alltoallv all blocks. */
static int pack_own_pieces(struct operation *operation, char *packed)
{
    const struct call *call = operation->call;
    const struct pieces *pieces = &call->result_pieces;
    if (call->asked.collective == HOCKET_ALLTOALLV)
        return pack_pieces(operation, pieces, call->result.address, packed, 0);
    for (int i = 0; i < operation->comm->rank; i++)
        packed += call->asked.counts[i];
    return pack(operation, shim_piece(pieces, call->result.address, operation->comm->rank), packed, 0);
}

/* Packs the input of a call in place, a part of its result, to its place in the packed result. */
static int pack_own_part(struct operation *operation, char *packed)
{
    struct call *call = operation->call;
    struct view own = operation->result;
    if (call->result_pieces.counts)
        return operation->packed_result.bytes ? pack_own_pieces(operation, packed) : MPI_SUCCESS;
    if (own.count == 0 || own.is_missing || shape_of(own.type)->is_dense)
        return MPI_SUCCESS;
    if (call->asked.collective == HOCKET_ALLGATHER || call->asked.collective == HOCKET_GATHER) {
        struct shape shape = *shape_of(own.type);
        own.count /= (size_t)operation->comm->ranks;
        own.address = element(own.address, own.count * (size_t)operation->comm->rank, shape.layout.extent);
        packed += own.count * shape.bytes * (size_t)operation->comm->rank;
    }
    return pack(operation, own, packed, 0);
}

/* Returns 1 if parts of the result stay unchanged and have to be packed, too: blocks without a neighbour. */
static int keeps_result(const struct operation *operation)
{
    const struct call *call = operation->call;
    return call->asked.neighbors && !call->result_pieces.counts;
}

/* Returns 1 at the root of a broadcast: the result is its own data and must not be written. */
static int gives_result(const struct operation *operation)
{
    const hocket_call *asked = &operation->call->asked;
    return asked->collective == HOCKET_BROADCAST && asked->root == operation->comm->rank;
}

static struct view block_of(struct view view, const struct pieces *pieces, int blocks, int index)
{
    if (pieces->counts)
        return shim_piece(pieces, view.address, index);
    view.count /= (size_t)blocks;
    view.address = element(view.address, view.count * (size_t)index, shape_of(view.type)->layout.extent);
    return view;
}

static int is_scattered(const struct call *call)
{
    return call->asked.collective == HOCKET_SCATTER || call->asked.collective == HOCKET_SCATTERV;
}

/* Moves this rank's own blocks, received in another length than sent, to their places; cuts them off if they do not
 * fit. The algorithm does the rest in place, except for alltoallv, whose other blocks have equal lengths. */
static void move_own_blocks(struct operation *operation)
{
    struct call *call = operation->call;
    int rank = operation->comm->rank, ranks = operation->comm->ranks;
    int is_alltoall = call->asked.collective == HOCKET_ALLTOALL;
    int has_blocks = is_alltoall || call->asked.collective == HOCKET_ALLTOALLV, is_scatter = is_scattered(call);
    for (int i = is_alltoall ? 0 : rank; i < (is_alltoall ? ranks : rank + 1); i++) {
        struct view from =
            has_blocks || is_scatter ? block_of(call->input, &call->input_pieces, ranks, i) : call->input;
        struct view into = is_scatter ? call->result : block_of(call->result, &call->result_pieces, ranks, i);
        note(operation, send_to_self(operation, from, into));
    }
}

void place(struct operation *operation)
{
    const struct call *call = operation->call;
    operation->input = call->input;
    operation->result = call->result;
    if (call->is_uneven && call->asked.collective != HOCKET_ALLTOALLV) {
        struct view *moved = is_scattered(call) ? &operation->result : &operation->input;
        *moved = (struct view){NULL, 0, MPI_BYTE, 0};
    }
    operation->input_at = place_of(operation, operation->input, &call->input_pieces, &operation->packed_input);
    operation->result_at = place_of(operation, operation->result, &call->result_pieces, &operation->packed_result);
}

/* Returns 1 if every rank knows that no message of the call exceeds MOST_SHARED bytes. */
static int is_short(const struct operation *operation)
{
    const hocket_call *asked = &operation->call->asked;
    size_t ranks = (size_t)operation->comm->ranks, count = asked->count;
    switch (asked->collective) {
    case HOCKET_ALLTOALLV:
    case HOCKET_GATHERV:
    case HOCKET_SCATTERV:
    case HOCKET_NEIGHBOR_ALLGATHER:
    case HOCKET_NEIGHBOR_ALLTOALL:
        return 0;
    case HOCKET_ALLGATHER:
    case HOCKET_ALLTOALL:
    case HOCKET_GATHER:
    case HOCKET_REDUCE_SCATTER:
    case HOCKET_SCATTER:
        if (count > MOST_SHARED || ranks > MOST_SHARED)
            return 0;
        count *= ranks;
    }
    if (asked->counts) {
        count = 0;
        for (size_t i = 0; i < ranks && count <= MOST_SHARED; i++)
            count += asked->counts[i] <= MOST_SHARED ? asked->counts[i] : MOST_SHARED + 1;
    }
    return asked->element_bytes <= MOST_SHARED && count * asked->element_bytes <= MOST_SHARED;
}

void start(struct operation *operation)
{
    const struct call *call = operation->call;
    operation->error = call->code;
    if (call->form == BLOCKING && operation->is_dense && is_short(operation))
        operation->memory = operation->comm->memory;
    if (call->is_uneven && !call->is_refused)
        move_own_blocks(operation);
    if (operation->packed_input.bytes)
        note(operation, pack_view(operation, operation->input, &call->input_pieces, operation->packed_input.bytes, 0));
    if (call->op == MPI_OP_NULL && (call->asked.in_place || gives_result(operation) || keeps_result(operation)))
        note(operation, pack_own_part(operation, operation->result_at));
    CHANGES(operation->program);
    hocket_start(operation->program, operation->input_at, operation->result_at, operation);
}

int advance(struct operation *operation, int may_wait)
{
    struct call *call = operation->call;
    CHANGES(operation->program);
    int state = hocket_advance(operation->program, may_wait, &call->code);
    operation->is_done = state == HOCKET_DONE;
    if (!operation->is_done)
        return state != HOCKET_WAITS;
    if (operation->packed_result.bytes && !gives_result(operation))
        note(operation, pack_view(operation, operation->result, &call->result_pieces, operation->packed_result.bytes, 1));
    /* The error of a refused call was reported before. */
    call->code = call->is_refused ? MPI_SUCCESS : operation->error;
    return 1;
}

/* The test saves a call of free: most operations use no room. */
static void free_room(const struct room *room)
{
    if (room->bytes)
        free(room->bytes);
}

void finish(struct operation *operation)
{
    if (!operation->is_done)
        return;
    give_back(operation);
    free_room(&operation->packed_input);
    free_room(&operation->packed_result);
    free_room(&operation->copying);
    if (operation->messages != operation->few)
        free(operation->messages);
}

int report_refused(struct call *call)
{
    int code = call->code;
    if (!call->is_refused)
        return MPI_SUCCESS;
    tell_wrong(call);
    shim_call_handler(call->comm, code);
    call->wrong = NULL;
    call->code = MPI_SUCCESS;
    return code;
}

void shim_refuse(struct call *call, const char *wrong, int error)
{
    if (call->is_refused)
        return;
    call->is_refused = 1;
    call->wrong = wrong;
    call->code = error;
}
