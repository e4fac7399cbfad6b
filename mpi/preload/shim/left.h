/* Blocking calls that the rules leave to MPI because of their size alone. A short call would take a third longer if it were described
 * first. What is not known here is asked in shim_run(). */
#ifndef HOCKET_SHIM_LEFT_H
#define HOCKET_SHIM_LEFT_H

#include "communicator.h"
#include "types.h"

/* The bytes of elements, if the type is a named one that this thread met last; else -1. */
static inline MPI_Count bytes_if_known(MPI_Count count, MPI_Datatype type)
{
    int is_known = last_shape.is_named && last_shape.type == type && count >= 0 && count < MOST_AT_ONCE;
    return is_known ? count * (MPI_Count)last_shape.bytes : -1;
}

/* Returns 1 if a call is left to MPI that has so many bytes, or blocks of so many; 0 if it has to be looked at: its bytes are -1, its
 * communicator was not used last, or calls are counted. */
static inline int is_left_at_once(MPI_Comm comm, hocket_collective collective, MPI_Count bytes)
{
    const struct communicator *state = last_used.state;
    if (bytes < 0 || is_counting() || !state || last_used.comm != comm ||
        last_used.freed != __atomic_load_n(&freed_communicators, __ATOMIC_RELAXED) ||
        __atomic_load_n(&state->left_by, __ATOMIC_ACQUIRE) != __atomic_load_n(&hocket_rules, __ATOMIC_RELAXED))
        return 0;
    return (uint64_t)bytes < state->left_below[collective];
}

#endif
