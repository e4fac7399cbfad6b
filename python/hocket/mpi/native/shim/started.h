/* Nonblocking calls under way: their operations, their requests, and the functions that advance them.
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
 * If the program frees the request of an active call, MPI calls free_request during PMPI_Grequest_complete.
 */
#ifndef HOCKET_SHIM_STARTED_H
#define HOCKET_SHIM_STARTED_H

#include "operation.h"

#pragma GCC visibility push(hidden)

/* Frees the calls whose requests are gone. */
void reap_ended(void);
/* Completes all calls under way, and frees those whose requests are gone. */
void end_started(void);

#pragma GCC visibility pop

#endif
