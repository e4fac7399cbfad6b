/* One call that an algorithm runs: on the stack of its thread if it is blocking, else in a started call. libhocket
 * keeps its program for later calls like it. A persistent call is prepared and placed once, and started many times. */
#ifndef HOCKET_SHIM_OPERATION_H
#define HOCKET_SHIM_OPERATION_H

#include "transport.h"

#pragma GCC visibility push(hidden)

/* Chooses the algorithm for a call; returns 0 and logs the call if it is left to MPI. The call must stay at its
 * address. All ranks prepare their calls in the same order. */
int prepare(struct operation *operation, struct call *call);
/* Leaves a prepared call to MPI after all, for the reason of its communicator; returns 0. */
int leave(struct operation *operation);
/* In meeting.c: creates the private communicator for the first prepared call of its communicator, and the memory of the
 * node for the first blocking one. All ranks make the same calls and wait for each other. Returns 0 and leaves the call
 * to MPI if MPI cannot create the communicator. */
int has_private_for(struct operation *operation);
/* Reports and returns the error of a refused call, at once as MPI does: before the rank takes part. */
int report_refused(struct call *call);
/* Decides which of the caller's buffers are packed, and makes room for them. */
void place(struct operation *operation);
/* Packs data that need it, and starts the program, for the first time or again. */
void start(struct operation *operation);
/* Advances an operation; returns 1 if it has ended. */
int advance(struct operation *operation, int may_wait);
/* Returns the program to libhocket. After an error it frees nothing, since messages may be under way. */
void finish(struct operation *operation);

#pragma GCC visibility pop

#endif
