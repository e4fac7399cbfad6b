/* Persistent calls: planned once, and started many times.
 *
 *     shim_plan: the algorithm and its tags, types, arrays, and room for packed data
 *         |
 *         v
 *        idle  <-------------------+   to MPI the request is always inactive
 *         |  shim_start_again      |
 *         v                        |  shim_take, when the program has waited for it
 *     under way                    |
 *         |  complete              |
 *         v                        |
 *     complete  -------------------+
 *
 * shim_forget, when the program frees the request: the call is ended, see started_calls.h, at once or when it is
 * complete.
 */
#ifndef HOCKET_SHIM_PERSISTENT_H
#define HOCKET_SHIM_PERSISTENT_H

#include "shim.h"

#pragma GCC visibility push(hidden)

/* Returns 1 if a persistent call has this operator. */
int is_planned(MPI_Op op);
/* Ends the persistent calls with unfreed requests, and frees the requests: MPICH would print a line about each. */
void forget_all(void);

#pragma GCC visibility pop

#endif
