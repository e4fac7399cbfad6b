/* One call that an algorithm runs: on the stack of the thread that calls it if it is blocking, else part of a started
 * call. libhocket keeps programs for calls like it. A persistent call is prepared and placed once, and started many times. */
#ifndef HOCKET_SHIM_OPERATION_H
#define HOCKET_SHIM_OPERATION_H

#include "transport.h"

#pragma GCC visibility push(hidden)

/* Chooses the algorithm for a call; returns 0 if the call is left to MPI, which is logged. The call must stay where it is.
 * All ranks do so in the same order. */
int prepare(struct operation *operation, struct call *call);
/* Leaves a prepared call to MPI after all, for the reason that its communicator has; returns 0. */
int leave(struct operation *operation);
/* Reports the error with which MPI refuses a call on this rank, and returns it: before the rank takes part, as MPI reports it at once. */
int report_refused(struct call *call);
/* Decides which of the caller's buffers are packed, and makes room for them. */
void place(struct operation *operation);
/* Packs what is packed, and starts the program: for the first time, or after it has ended. */
void start(struct operation *operation);
/* Advances an operation; returns 1 if it has ended. */
int advance(struct operation *operation, int may_wait);
/* Gives the program back to libhocket. After an error, messages may be under way: nothing is freed then. */
void finish(struct operation *operation);

#pragma GCC visibility pop

#endif
