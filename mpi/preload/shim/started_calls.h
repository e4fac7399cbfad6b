/* Nonblocking and persistent calls under way: their operations, their requests, and the functions that advance them.
 *
 *     shim_start
 *         |
 *         v
 *      active   in the list `active`; every shim_progress advances it, in any thread
 *         |     its program ends, or a function of the transport fails: PMPI_Grequest_complete
 *         v
 *     complete  only MPI's request refers to it; query_request returns its error
 *         |     the program has waited for the request, so that MPI frees it: free_request
 *         v
 *      ended    in the list `ended`, since free_request must not call MPI
 *         |     the next call of a collective: reap_ended
 *         v
 *       freed   its program is back at libhocket
 *
 * If the program frees the request of an active call, MPI calls free_request during PMPI_Grequest_complete. For the
 * states of a persistent call see persistent.h; it becomes ended when the program frees its request.
 */
#ifndef HOCKET_SHIM_STARTED_CALLS_H
#define HOCKET_SHIM_STARTED_CALLS_H

#include "operation.h"

#pragma GCC visibility push(hidden)

struct started_call {
    struct operation operation;
    /* The call, with its own copies of types and arrays. */
    struct call call;
    MPI_Request request;
    /* The error that the call ended with, written before the call is reported as complete. */
    int code;
    /* Called when the call has ended; active_lock is held. */
    void (*on_completion)(struct started_call *started_call);
    struct started_call *next;
};

/* Gives a call its own copies of types and arrays, and of the counts if it is persistent. */
void hold(struct started_call *started_call);
/* Starts a call, and advances it as far as possible. */
void activate(struct started_call *started_call);
/* Puts a call into the list of those that have ended. */
void end_call(struct started_call *started_call);
/* Changes the number of persistent calls that are not idle. */
void count_started(int change);
/* Returns 1 if a call under way uses this operator; the caller holds active_lock. */
int is_reducing(MPI_Op op);
/* No call ends while a thread holds it. For changes of a persistent call and for freed operators. */
extern pthread_mutex_t active_lock;
/* Frees the ended calls, and communicators without users. */
void reap_ended(void);
/* Completes all calls under way. */
void end_started_calls(void);
/* Frees the operators that the program has freed while calls needed them, after all calls have ended. */
void end_operators(void);

#pragma GCC visibility pop

#endif
