/* What waits for all ranks of a communicator while nonblocking calls may be under way, besides what shim.h has of that. */
#ifndef HOCKET_SHIM_MEETING_H
#define HOCKET_SHIM_MEETING_H

#include "operation.h"

#pragma GCC visibility push(hidden)

/* Creates the private communicator for a prepared call, if it is the first of its communicator that has an algorithm. Returns 0
 * if MPI cannot: then the call is left to MPI. */
int has_private_for(struct operation *operation);

#pragma GCC visibility pop

#endif
