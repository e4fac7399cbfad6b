/* Persistent calls. This file owns their requests, and finds the call of a request. */
#include "persistent.h"

#include <sched.h>
#include <stdlib.h>

#include "started_calls.h"

struct persistent {
    /* Must come first: pointers are cast between the two structs. */
    struct started_call started_call;
    /* Atomic: one thread completes the call, another one may take it. */
    enum state state;
    /* The error that each start returns if nothing else fails. */
    int first_code;
    /* A start has failed with messages under way: the call cannot run again. */
    int is_broken;
    int is_forgotten;
    struct persistent *next;
};

/* A hash table of calls by request. */
enum { BUCKETS = 1024, BUCKET_BITS = 10 };
static struct persistent *buckets[BUCKETS];
static pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;
/* Number of persistent calls; atomic. */
static int planned_count;

static struct persistent **bucket_of(MPI_Request request)
{
    return &buckets[(uint64_t)(uintptr_t)request * 0x9E3779B97F4A7C15u >> (64 - BUCKET_BITS)];
}

/* The call of a request, or NULL. */
static struct persistent *find(MPI_Request request)
{
    if (!shim_has_own())
        return NULL;
    lock(&requests_lock);
    struct persistent *persistent = *bucket_of(request);
    while (persistent && persistent->started_call.request != request)
        persistent = persistent->next;
    unlock(&requests_lock);
    return persistent;
}

static void insert(struct persistent *persistent)
{
    lock(&requests_lock);
    struct persistent **bucket = bucket_of(persistent->started_call.request);
    persistent->next = *bucket;
    *bucket = persistent;
    __atomic_add_fetch(&planned_count, 1, __ATOMIC_RELAXED);
    unlock(&requests_lock);
}

static void take_out(struct persistent *persistent)
{
    lock(&requests_lock);
    struct persistent **place = bucket_of(persistent->started_call.request);
    while (*place != persistent)
        place = &(*place)->next;
    *place = persistent->next;
    __atomic_sub_fetch(&planned_count, 1, __ATOMIC_RELAXED);
    unlock(&requests_lock);
}

static enum state state_now(const struct persistent *persistent)
{
    return __atomic_load_n(&persistent->state, __ATOMIC_ACQUIRE);
}

static void change(struct persistent *persistent, enum state state)
{
    __atomic_store_n(&persistent->state, state, __ATOMIC_RELEASE);
}

int shim_has_own(void)
{
    return __atomic_load_n(&planned_count, __ATOMIC_RELAXED) > 0;
}

enum state shim_state(MPI_Request request)
{
    const struct persistent *persistent = shim_has_started() ? find(request) : NULL;
    return persistent ? state_now(persistent) : IDLE;
}

int is_planned(MPI_Op op)
{
    int is_found = 0;
    if (!shim_has_own())
        return 0;
    lock(&requests_lock);
    for (int i = 0; i < BUCKETS && !is_found; i++)
        for (const struct persistent *one = buckets[i]; one && !is_found; one = one->next)
            is_found = one->started_call.call.op == op;
    unlock(&requests_lock);
    return is_found;
}

static void complete(struct started_call *started_call)
{
    struct persistent *persistent = (struct persistent *)started_call;
    persistent->is_broken = !started_call->operation.is_done;
    if (!persistent->is_forgotten) {
        change(persistent, COMPLETE);
        return;
    }
    count_started(-1);
    end_call(started_call);
}

int shim_plan(struct call *call, MPI_Request *request)
{
    if (!request)
        shim_refuse(call, "no request", MPI_ERR_ARG);
    reap_ended();
    struct persistent *persistent = shim_room(sizeof *persistent);
    struct started_call *started_call = &persistent->started_call;
    started_call->call = *call;
    started_call->on_completion = complete;
    if (!prepare(&started_call->operation, &started_call->call) || !has_private_for(&started_call->operation)) {
        free(persistent);
        return 0;
    }
    /* A refused call has no request to start. */
    if (call->is_refused) {
        call->code = report_refused(&started_call->call);
        started_call->operation.is_done = 1;
        finish(&started_call->operation);
        free(persistent);
        return 1;
    }
    hold(started_call);
    place(&started_call->operation);
    persistent->state = IDLE;
    persistent->first_code = call->code;
    persistent->is_broken = persistent->is_forgotten = 0;
    call->code = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, request);
    started_call->request = *request;
    __atomic_add_fetch(&started_call->operation.comm->users, 1, __ATOMIC_RELAXED);
    insert(persistent);
    return 1;
}

int shim_start_again(MPI_Request request, int *code)
{
    struct persistent *persistent = find(request);
    if (!persistent)
        return 0;
    reap_ended();
    struct started_call *started_call = &persistent->started_call;
    *code = state_now(persistent) == IDLE ? MPI_SUCCESS : MPI_ERR_REQUEST;
    if (*code != MPI_SUCCESS) {
        shim_call_handler(started_call->call.comm, *code);
        return 1;
    }
    count_started(1);
    change(persistent, persistent->is_broken ? COMPLETE : UNDER_WAY);
    if (persistent->is_broken)
        return 1;
    started_call->call.code = persistent->first_code;
    started_call->operation.is_done = 0;
    started_call->call.start_s = is_counting() ? PMPI_Wtime() : 0;
    started_call->next = NULL;
    activate(started_call);
    return 1;
}

int shim_take(MPI_Request request, MPI_Comm *comm)
{
    struct persistent *persistent = find(request);
    const struct started_call *started_call = &persistent->started_call;
    while (state_now(persistent) == UNDER_WAY) {
        shim_progress();
        if (shim.is_crowded)
            sched_yield();
    }
    int is_freed = __atomic_load_n(&started_call->operation.comm->is_freed, __ATOMIC_RELAXED);
    *comm = is_freed ? MPI_COMM_SELF : started_call->call.comm;
    change(persistent, IDLE);
    count_started(-1);
    return started_call->code;
}

/* Ends a call now, or when it is complete. */
static void forget(struct persistent *persistent)
{
    pthread_mutex_lock(&active_lock);
    take_out(persistent);
    enum state state = persistent->state;
    persistent->is_forgotten = 1;
    if (state == COMPLETE)
        count_started(-1);
    if (state != UNDER_WAY)
        end_call(&persistent->started_call);
    pthread_mutex_unlock(&active_lock);
}

void shim_forget(MPI_Request request)
{
    struct persistent *persistent = find(request);
    if (persistent)
        forget(persistent);
    reap_ended();
}

void forget_all(void)
{
    for (int i = 0; i < BUCKETS; i++)
        while (buckets[i]) {
            MPI_Request request = buckets[i]->started_call.request;
            forget(buckets[i]);
            PMPI_Request_free(&request);
        }
}
