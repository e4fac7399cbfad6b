/* Waits for all ranks of a communicator while nonblocking calls may be under way; more functions are in shim.h. */
#ifndef HOCKET_SHIM_MEETING_H
#define HOCKET_SHIM_MEETING_H

#include "operation.h"

#pragma GCC visibility push(hidden)

/* Creates the private communicator for the first prepared call of its communicator, and the memory of the node for the
 * first blocking one. All ranks make the same calls and wait for each other. Returns 0 and leaves the call to MPI if MPI
 * cannot create the communicator. */
int has_private_for(struct operation *operation);

#pragma GCC visibility pop

#endif
