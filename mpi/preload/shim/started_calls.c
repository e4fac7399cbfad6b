/* Calls under way. This file owns the lists of active and of ended calls, and the requests of nonblocking calls. */
#include "started_calls.h"

#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "log.h"

static struct started_call *active;
static int active_count;
/* Persistent calls that are not idle; atomic. */
static int started_count;
pthread_mutex_t active_lock = PTHREAD_MUTEX_INITIALIZER;

static struct started_call *ended;
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;

/* Requests */

/* While a thread waits for a request or tests it: the error of the request's call, and the communicator whose error
 * handler gets it. */
THREAD_CACHE struct {
    int is_asked, code;
    MPI_Comm comm;
} ending;

static int query_request(void *state, MPI_Status *status)
{
    struct started_call *started_call = state;
    int code = __atomic_load_n(&started_call->code, __ATOMIC_ACQUIRE);
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    if (code == MPI_SUCCESS || !ending.is_asked)
        return code;
    int is_freed = __atomic_load_n(&started_call->operation.comm->is_freed, __ATOMIC_RELAXED);
    ending.code = code;
    ending.comm = is_freed ? MPI_COMM_SELF : started_call->call.comm;
    return MPI_SUCCESS;
}

/* Waits for a request or tests it. Its error goes to the error handler of its communicator; MPI would call another
 * handler. */
static int end_request(MPI_Request *request, int may_wait, int *flag, MPI_Status *status)
{
    ending.is_asked = 1;
    ending.code = MPI_SUCCESS;
    int code = may_wait ? PMPI_Wait(request, status) : PMPI_Test(request, flag, status);
    ending.is_asked = 0;
    if (code != MPI_SUCCESS || ending.code == MPI_SUCCESS)
        return code;
    shim_call_handler(ending.comm, ending.code);
    return ending.code;
}

void end_call(struct started_call *started_call)
{
    pthread_mutex_lock(&ended_lock);
    started_call->next = ended;
    __atomic_store_n(&ended, started_call, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&ended_lock);
}

/* MPI must not be called from here, so that the call is freed later. */
static int free_request(void *state)
{
    end_call(state);
    return MPI_SUCCESS;
}

static int cancel_request(void *state, int is_complete)
{
    (void)state, (void)is_complete;
    return MPI_SUCCESS;
}

/* Calls */

/* A copy of the type that stays when the caller frees its own. */
static MPI_Datatype lasting_type(MPI_Datatype type)
{
    if (type != MPI_DATATYPE_NULL && !is_named(type))
        PMPI_Type_dup(type, &type);
    return type;
}

static void *copy_of(const void *array, size_t bytes)
{
    return memcpy(shim_room(bytes), array, bytes);
}

/* Copies the arrays, too: mpi4py and others free them before a nonblocking call has ended, which MPI forbids. */
static void hold_pieces(struct pieces *pieces)
{
    size_t number = (size_t)pieces->number;
    if (!pieces->counts)
        return;
    pieces->counts = copy_of(pieces->counts, number * (pieces->has_large_counts ? sizeof(MPI_Count) : sizeof(int)));
    pieces->places = copy_of(pieces->places, number * (pieces->has_large_places ? sizeof(MPI_Aint) : sizeof(int)));
    pieces->type = lasting_type(pieces->type);
    if (!pieces->types)
        return;
    MPI_Datatype *types = shim_room(sizeof *types * number);
    for (size_t i = 0; i < number; i++)
        types[i] = shim_piece(pieces, NULL, (int)i).count ? lasting_type(pieces->types[i]) : MPI_DATATYPE_NULL;
    pieces->types = types;
}

/* Returns 1 if a call owns a copy of its counts until it is freed. Counts of neighbours are not read again. */
static int has_own_counts(const struct call *call)
{
    return call->form == PERSISTENT && call->asked.counts && !call->asked.neighbors;
}

void hold(struct started_call *started_call)
{
    struct call *call = &started_call->call;
    size_t ranks = (size_t)started_call->operation.comm->ranks;
    call->input.type = lasting_type(call->input.type);
    call->result.type = lasting_type(call->result.type);
    hold_pieces(&call->input_pieces);
    hold_pieces(&call->result_pieces);
    if (call->op != MPI_OP_NULL)
        started_call->operation.type = call->result.type;
    if (!has_own_counts(call))
        return;
    call->asked.counts = copy_of(call->asked.counts, 2 * ranks * sizeof(size_t));
    if (call->asked.counts_from)
        call->asked.counts_from = call->asked.counts + ranks;
}

static void release(MPI_Datatype type)
{
    if (type != MPI_DATATYPE_NULL && !is_named(type))
        PMPI_Type_free(&type);
}

static void release_pieces(const struct pieces *pieces)
{
    if (!pieces->counts)
        return;
    free((void *)pieces->counts);
    free((void *)pieces->places);
    release(pieces->type);
    for (int i = 0; pieces->types && i < pieces->number; i++)
        release(pieces->types[i]);
    free((void *)pieces->types);
}

/* Frees the copies that hold() made. */
static void let_go(const struct started_call *started_call)
{
    const struct call *call = &started_call->call;
    release(call->input.type);
    release(call->result.type);
    release_pieces(&call->input_pieces);
    release_pieces(&call->result_pieces);
    if (has_own_counts(call))
        free((void *)call->asked.counts);
}

static int is_active(void)
{
    return __atomic_load_n(&active_count, __ATOMIC_RELAXED) > 0;
}

int shim_has_started(void)
{
    return __atomic_load_n(&started_count, __ATOMIC_RELAXED) > 0;
}

void count_started(int change)
{
    __atomic_add_fetch(&started_count, change, __ATOMIC_RELAXED);
}

int shim_polls(void)
{
    return is_active() || shim_has_started() || (shim.has_threads && has_rule(HOCKET_ANY, 1));
}

int is_reducing(MPI_Op op)
{
    const struct started_call *started_call = active;
    while (started_call && started_call->call.op != op)
        started_call = started_call->next;
    return started_call != NULL;
}

static void complete_request(struct started_call *started_call)
{
    PMPI_Grequest_complete(started_call->request);
}

void shim_progress(void)
{
    if (!is_active() || pthread_mutex_trylock(&active_lock))
        return;
    for (struct started_call **place = &active; *place;) {
        struct started_call *started_call = *place;
        if (!advance(&started_call->operation, 0)) {
            place = &started_call->next;
            continue;
        }
        *place = started_call->next;
        log_ran(&started_call->operation);
        __atomic_sub_fetch(&active_count, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&started_call->code, started_call->call.code, __ATOMIC_RELEASE);
        started_call->on_completion(started_call);
    }
    pthread_mutex_unlock(&active_lock);
}

void activate(struct started_call *started_call)
{
    start(&started_call->operation);
    /* The active calls stay in the order of their starts. */
    pthread_mutex_lock(&active_lock);
    struct started_call **last = &active;
    while (*last)
        last = &(*last)->next;
    *last = started_call;
    __atomic_add_fetch(&active_count, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&active_lock);
    shim_progress();
}

int shim_start(struct call *call, MPI_Request *request)
{
    MPI_Request own_request;
    if (!request)
        shim_refuse(call, "no request", MPI_ERR_ARG);
    reap_ended();
    struct started_call *started_call = shim_room(sizeof *started_call);
    started_call->call = *call;
    started_call->on_completion = complete_request;
    started_call->next = NULL;
    if (!prepare(&started_call->operation, &started_call->call)) {
        free(started_call);
        return 0;
    }
    call->code = report_refused(&started_call->call);
    if (call->is_absent) {
        started_call->operation.is_done = 1;
        finish(&started_call->operation);
        free(started_call);
        return 1;
    }
    hold(started_call);
    place(&started_call->operation);
    MPI_Request *target = call->is_refused ? &own_request : request;
    PMPI_Grequest_start(query_request, free_request, cancel_request, started_call, target);
    started_call->request = *target;
    __atomic_add_fetch(&started_call->operation.comm->users, 1, __ATOMIC_RELAXED);
    activate(started_call);
    if (call->is_refused)
        PMPI_Request_free(&own_request);
    return 1;
}

static void free_ended(void)
{
    if (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&ended_lock);
    struct started_call *next, *started_call = ended;
    __atomic_store_n(&ended, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&ended_lock);
    for (; started_call; started_call = next) {
        struct communicator *comm = started_call->operation.comm;
        next = started_call->next;
        if (started_call->operation.is_done)
            let_go(started_call);
        finish(&started_call->operation);
        free(started_call);
        release_communicator(comm);
    }
}

void reap_ended(void)
{
    free_ended();
    free_unused_communicators();
}

void end_started_calls(void)
{
    while (is_active())
        shim_progress();
}

static int is_in_use(const struct communicator *state)
{
    pthread_mutex_lock(&active_lock);
    const struct started_call *started_call = active;
    while (started_call && started_call->operation.comm != state)
        started_call = started_call->next;
    pthread_mutex_unlock(&active_lock);
    return started_call != NULL;
}

void shim_settle(MPI_Comm comm)
{
    struct communicator *state = is_active() ? known_state_of(comm) : NULL;
    while (state && is_in_use(state))
        shim_progress();
    reap_ended();
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
