/* Calls that the rules leave to MPI without a description, which would make a short call a third slower: all calls, or
 * blocking calls by their size alone. Blocking calls that are not decided here go to shim_run(). */
#ifndef HOCKET_SHIM_LEFT_H
#define HOCKET_SHIM_LEFT_H

#include "communicator.h"
#include "types.h"

/* Returns 1 if all calls are left to MPI, and not counted. Before MPI is initialised and after its end they are, so that
 * MPI's error names the program's function. */
static inline int are_all_left(void)
{
    return __atomic_load_n(&hocket_rules, __ATOMIC_RELAXED) == __atomic_load_n(&shim.idle_rules, __ATOMIC_RELAXED) &&
           !is_counting();
}

/* The bytes of elements if `type` is named and this thread's last type; else -1. */
static inline MPI_Count bytes_if_known(MPI_Count count, MPI_Datatype type)
{
    int is_known = last_shape.is_named && last_shape.type == type && count >= 0 && count < MOST_AT_ONCE;
    return is_known ? count * (MPI_Count)last_shape.bytes : -1;
}

/* Returns 1 if the rules leave a call of these bytes, or with blocks of these bytes, to MPI. Returns 0 if this is
 * undecided: the bytes are -1, the communicator is not the last used one, or calls are counted. */
static inline int is_left_at_once(MPI_Comm comm, hocket_collective collective, MPI_Count bytes)
{
    const struct communicator *state = last_used.state;
    if (are_all_left())
        return 1;
    if (bytes < 0 || is_counting() || !state || last_used.comm != comm ||
        last_used.freed_count != __atomic_load_n(&freed_communicators, __ATOMIC_RELAXED) ||
        __atomic_load_n(&state->left_rules, __ATOMIC_ACQUIRE) != __atomic_load_n(&hocket_rules, __ATOMIC_RELAXED))
        return 0;
    return (uint64_t)bytes < state->left_below[collective];
}

#endif
