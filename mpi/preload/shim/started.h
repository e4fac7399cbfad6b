/* Nonblocking and persistent calls under way: their operations, their requests, and the functions that advance them.
 *
 *     shim_start
 *         |
 *         v
 *      active   in the list `active`; every shim_progress advances it, in any thread
 *         |     its program ends, or a function of the transport fails: PMPI_Grequest_complete
 *         v
 *     complete  only MPI's request refers to it; query_request tells its error
 *         |     MPI frees the request, as the program has waited for it: free_request
 *         v
 *      ended    in the list `ended`, as MPI must not be called from free_request
 *         |     the next call of a collective: reap_ended
 *         v
 *       freed   its program is back at libhocket
 *
 * If the program frees the request of an active call, MPI calls free_request during PMPI_Grequest_complete. A persistent call
 * becomes complete in its own way, see persistent.h, and ended when the program frees its request.
 */
#ifndef HOCKET_SHIM_STARTED_H
#define HOCKET_SHIM_STARTED_H

#include "operation.h"

#pragma GCC visibility push(hidden)

struct started {
    struct operation operation;
    /* The call, with types of its own; a persistent one also has arrays of its own. */
    struct call call;
    MPI_Request request;
    /* The error that the call ended with: stored when it has ended, and read first by the thread that is told of that. */
    int code;
    /* Called when it has ended, while the calls under way are locked. */
    void (*completed)(struct started *started);
    struct started *next;
};

/* Gives a call types of its own, and arrays if it is persistent. */
void hold(struct started *started);
/* Starts a call, and advances it as far as possible. */
void activate(struct started *started);
/* Puts a call into the list of those that have ended. */
void end_call(struct started *started);
/* Counts the persistent calls that are not idle. */
void count_started(int change);
/* Returns 1 if a call under way has this operator; the calls are locked. */
int is_reducing(MPI_Op op);
/* Holds back calls that end, while a persistent call changes hands or an operator is freed. */
void lock_active(void);
void unlock_active(void);
/* Frees the calls whose requests are gone. */
void reap_ended(void);
/* Completes all calls under way. */
void end_started(void);

#pragma GCC visibility pop

#endif
