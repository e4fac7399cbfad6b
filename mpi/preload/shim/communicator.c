/* Communicators. This file owns the attribute with the state of a communicator, and per thread the last used state. */
#include "communicator.h"

#include <stdlib.h>

static int keyval = MPI_KEYVAL_INVALID;
/* A copy of MPI_COMM_WORLD that returns errors. */
static MPI_Comm world;
unsigned freed_communicators;
THREAD_OWNED struct last_used last_used = {.comm = MPI_COMM_NULL};

/* Why all calls of a communicator are left to MPI, or NULL. `nodes` gets the node of each rank; the caller frees it. */
static const char *reason_against(MPI_Comm comm, int **nodes)
{
    int is_inter, ranks;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        return "an intercommunicator";
    MPI_Group group, all;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_size(group, &ranks);
    int *numbers = resize(NULL, sizeof(int) * 2 * (size_t)ranks), *translated = numbers + ranks;
    for (int i = 0; i < ranks; i++)
        numbers[i] = i;
    PMPI_Group_translate_ranks(group, ranks, numbers, all, translated);
    const char *reason = NULL;
    for (int i = 0; i < ranks; i++)
        if (translated[i] == MPI_UNDEFINED)
            reason = "its communicator has processes of another MPI_COMM_WORLD";
        else
            numbers[i] = shim.nodes[translated[i]];
    *nodes = numbers;
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
    return reason;
}

/* Receives messages to a rank that took no part in a call: MPICH does not free a communicator with pending messages. */
static void clear_messages(MPI_Comm comm)
{
    MPI_Status status;
    int flag, bytes;
    while (PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status) == MPI_SUCCESS && flag) {
        PMPI_Get_count(&status, MPI_BYTE, &bytes);
        void *data = bytes >= 0 ? resize(NULL, (size_t)bytes) : NULL;
        PMPI_Recv(data, bytes < 0 ? 0 : bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
        free(data);
    }
}

/* Communicators without users, to be freed; atomic. */
static struct communicator *unused;

void release_communicator(struct communicator *state)
{
    if (__atomic_sub_fetch(&state->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    state->next = __atomic_load_n(&unused, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&unused, &state->next, state, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static void free_communicator(struct communicator *state)
{
    if (state->private_comm != MPI_COMM_NULL) {
        clear_messages(state->private_comm);
        PMPI_Comm_free(&state->private_comm);
    }
    if (state->algorithms)
        hocket_communicator_free(state->algorithms);
    pthread_mutex_destroy(&state->lock);
    free_node_memory(state->memory);
    free(state->nodes);
    free(state->counts);
    if (state->neighbors) {
        free(state->neighbors->destinations);
        free(state->neighbors->to_bytes);
        free(state->neighbors);
    }
    free(state);
}

void free_unused_communicators(void)
{
    if (!__atomic_load_n(&unused, __ATOMIC_RELAXED))
        return;
    struct communicator *next, *state = __atomic_exchange_n(&unused, NULL, __ATOMIC_ACQUIRE);
    for (; state; state = next) {
        next = state->next;
        free_communicator(state);
    }
}

/* MPI calls this while it frees the communicator, perhaps inside another function and with its locks held, so that MPI
 * must not be called from here. */
static int delete_state(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    __atomic_store_n(&((struct communicator *)value)->is_freed, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&freed_communicators, 1, __ATOMIC_RELAXED);
    release_communicator(value);
    return MPI_SUCCESS;
}

static struct communicator *new_communicator(MPI_Comm comm)
{
    struct communicator *state = resize(NULL, sizeof *state);
    *state = (struct communicator){.private_comm = MPI_COMM_NULL, .users = 1};
    pthread_mutex_init(&state->lock, NULL);
    state->reason = reason_against(comm, &state->nodes);
    if (!state->reason) {
        PMPI_Comm_rank(comm, &state->rank);
        PMPI_Comm_size(comm, &state->ranks);
        state->algorithms = hocket_communicator_new(state->rank, state->ranks, &transport);
        hocket_communicator_nodes(state->algorithms, state->nodes);
        state->counts = resize(NULL, sizeof(size_t) * 2 * (size_t)state->ranks);
    }
    return state;
}

void begin_communicators(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_state, &keyval, NULL);
    MPI_Group group; /* MPI_Comm_create_group of MPICH 3.4 crashes if nobody has asked for the group of its parent */
    PMPI_Comm_dup(MPI_COMM_WORLD, &world);
    PMPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    PMPI_Comm_group(world, &group);
    PMPI_Group_free(&group);
}

void end_communicators(void)
{
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int i = 0; i < 2; i++) {
        void *state;
        int has_state;
        PMPI_Comm_get_attr(comms[i], keyval, &state, &has_state);
        if (has_state)
            PMPI_Comm_delete_attr(comms[i], keyval);
    }
    free_unused_communicators();
    PMPI_Comm_free(&world);
}

#ifdef OPEN_MPI
/* Every communicator has a handler, which is set back. */
static int create_private(MPI_Comm comm, MPI_Group group, MPI_Comm *private_comm)
{
    MPI_Errhandler handler;
    PMPI_Comm_get_errhandler(comm, &handler);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int code = PMPI_Comm_create(comm, group, private_comm);
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    return code;
}
#else
/* A communicator of MPICH without a handler follows MPI_COMM_WORLD until one is set, for good. So the private one comes
 * from `world`. If threads may do this at once, the first rank chooses a tag that no other communicator uses. */
static int create_private(MPI_Comm comm, MPI_Group group, MPI_Comm *private_comm)
{
    static int count;
    int tag = 0, ranks;
    if (shim.some_have_threads) {
        PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
        tag = (shim.world_rank + ranks * (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 64)) % other_tag();
        PMPI_Bcast(&tag, 1, MPI_INT, 0, comm);
    }
    return PMPI_Comm_create_group(world, group, tag, private_comm);
}
#endif

int has_private(MPI_Comm comm, struct communicator *state)
{
    MPI_Group group;
    if (state->private_comm != MPI_COMM_NULL)
        return 1;
    PMPI_Comm_group(comm, &group);
    int code = create_private(comm, group, &state->private_comm);
    PMPI_Group_free(&group);
    if (code == MPI_SUCCESS) {
        PMPI_Comm_set_errhandler(state->private_comm, MPI_ERRORS_RETURN);
    } else {
        state->reason = "its communicator cannot be duplicated";
        state->private_comm = MPI_COMM_NULL;
    }
    return code == MPI_SUCCESS;
}

void shim_call_handler(MPI_Comm comm, int code)
{
#ifndef OPEN_MPI /* MPICH calls the handler of MPI_COMM_WORLD for a communicator without one, except in the call below */
    MPI_Errhandler handler;
    PMPI_Comm_get_errhandler(comm, &handler);
    if (handler == MPI_ERRORS_ARE_FATAL)
        comm = MPI_COMM_WORLD;
    PMPI_Errhandler_free(&handler);
#endif
    PMPI_Comm_call_errhandler(comm, code);
}

struct communicator *state_of(MPI_Comm comm)
{
    struct communicator *state;
    int has_state = -1;
    unsigned freed_count = __atomic_load_n(&freed_communicators, __ATOMIC_RELAXED);
    if (last_used.state && last_used.comm == comm && last_used.freed_count == freed_count)
        return last_used.state;
    PMPI_Comm_get_attr(comm, keyval, &state, &has_state);
    if (has_state < 0)
        return NULL;
    if (!has_state) {
        state = new_communicator(comm);
        PMPI_Comm_set_attr(comm, keyval, state);
    }
    last_used = (struct last_used){comm, state, freed_count};
    return state;
}

void shim_learn_left(MPI_Comm comm)
{
    /* One such call is not worth a state: wait for the second one in a row. */
    THREAD_CACHE MPI_Comm left;
    note_idle_rules();
    int is_first = left != comm;
    left = comm;
    struct communicator *state = !is_first && has_rule(HOCKET_ANY, 0) ? state_of(comm) : NULL;
    const void *rules = __atomic_load_n(&hocket_rules, __ATOMIC_ACQUIRE);
    if (!state || state->reason || __atomic_load_n(&state->left_rules, __ATOMIC_ACQUIRE) == rules)
        return;
    lock(&state->lock);
    if (state->left_rules != rules)
        for (int i = 0; i < HOCKET_COLLECTIVES; i++)
            state->left_below[i] = hocket_left_below(i, state->ranks);
    __atomic_store_n(&state->left_rules, rules, __ATOMIC_RELEASE);
    unlock(&state->lock);
}

struct communicator *known_state_of(MPI_Comm comm)
{
    struct communicator *state;
    int has_state = 0;
    if (shim.is_ready && comm != MPI_COMM_NULL)
        PMPI_Comm_get_attr(comm, keyval, &state, &has_state);
    return has_state ? state : NULL;
}

MPI_Comm shim_revoked(MPI_Comm comm)
{
    struct communicator *state = known_state_of(comm);
    if (!state)
        return MPI_COMM_NULL;
    state->reason = "its communicator is revoked";
    return state->private_comm;
}

int shim_may_be_active(MPI_Comm comm)
{
    if (!shim.is_ready || shim.off || comm == MPI_COMM_NULL || !has_rule(HOCKET_ANY, 1))
        return 0;
    struct communicator *state = state_of(comm);
    return state && !state->reason;
}

void shim_made(MPI_Comm comm)
{
    if (shim_may_be_active(comm))
        has_private(comm, state_of(comm));
}

size_t *shim_counts(const struct call *call)
{
    int is_taken = !shim.off && has_rule(call->asked.collective, call->asked.is_nonblocking);
    struct communicator *state = shim.is_ready && (is_taken || shim.log_job) ? state_of(call->comm) : NULL;
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
