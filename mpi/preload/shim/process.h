/* Settings of the process, which life_cycle.c sets when MPI is initialised; they do not change afterwards,
 * except `is_ready`, `log_summary` and what sessions need. Below are also helpers that all parts use.
 *
 * Locks of the preloaded library. A thread that holds one may take only those in the last column. MPI is called while
 * judge_lock or active_lock is held, never while one of the others is.
 *
 *     lock                     it guards                                              taken while it is held
 *     communicator's `lock`    its `algorithms`, the numbers of its operations,       none
 *                              and the change of `left_below`
 *     judge_lock (types.c)     the communicator `judge`, during PMPI_Allreduce        none
 *     active_lock (started.c)  the list of active calls, these calls while they       requests_lock, and ended_lock,
 *                              advance, and the operators to be freed                 in end_call
 *     requests_lock            the table of persistent calls                          none
 *         (persistent.c)
 *     ended_lock (started.c)   the list of ended calls                                none
 *     memory_lock              how much memory is shared                              none
 *         (node_memory.c)
 *
 * A blocking operation belongs to the thread that runs it and needs no lock. Atomic are `users`, `is_freed`, `left_by`,
 * `freed_communicators`, `active_count`, the code that a started call ended with, and of persistent calls `planned_count`,
 * `started_count` and `state`.
 */
#ifndef HOCKET_SHIM_PROCESS_H
#define HOCKET_SHIM_PROCESS_H

#include <pthread.h>
#include <stddef.h>

#include "shim.h"

/* Tells ThreadSanitizer that libhocket, which is not compiled for it, changes an object. */
#ifdef __SANITIZE_THREAD__
void __tsan_write8(void *object);
#define CHANGES(object) __tsan_write8(object)
#else
#define CHANGES(object) ((void)0)
#endif

/* Names of internal functions must not meet those of the program. */
#pragma GCC visibility push(hidden)

struct shim {
    int is_ready;
    /* Why all calls are left to MPI, or NULL. */
    const char *off;
    /* Nonblocking calls are left to MPI. */
    int leaves_started;
    int log_calls, log_summary, world_rank;
    /* Calls are counted for the log of the job. */
    int log_job;
    /* Short messages within a node may go by memory. */
    int shares_memory;
    /* There are more ranks on this node than processors: a rank that waits lets others run. */
    int is_crowded;
    /* For each rank of MPI_COMM_WORLD, the lowest such rank on its node. */
    int *nodes;
    int has_threads;
    /* Operations of one communicator and kind that have tags of their own; later ones use the same tags again. */
    unsigned most_operations;
};
extern struct shim shim;

/* What each thread keeps of its last call; the library is loaded at the start of the program, which makes that cheap. */
#define THREAD_OWNED _Thread_local __attribute__((tls_model("initial-exec")))
#define THREAD_CACHE static THREAD_OWNED

/* Tags for the messages of one operation. */
enum { TAGS_PER_OPERATION = 64 };

/* The first tag of the operation of this number among those of its form. */
static inline int first_tag(unsigned number, enum form form)
{
    return (int)((number % shim.most_operations * FORMS + form) * TAGS_PER_OPERATION);
}

/* A tag that no operation has. */
static inline int other_tag(void)
{
    return (int)(shim.most_operations * FORMS * TAGS_PER_OPERATION);
}

/* Bytes and elements that one call of MPI is given at most. */
enum { MOST_AT_ONCE = 1 << 30 };

/* Prints one line to stderr. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory of another size, with what it held; if there is none, the program is aborted. */
void *grown(void *memory, size_t bytes);

/* A program of one thread is spared the locks of every call. */
static inline void lock(pthread_mutex_t *mutex)
{
    if (shim.has_threads)
        pthread_mutex_lock(mutex);
}

static inline void unlock(pthread_mutex_t *mutex)
{
    if (shim.has_threads)
        pthread_mutex_unlock(mutex);
}

static inline int is_counting(void)
{
    return shim.log_summary || shim.log_job;
}

/* Returns 1 if the rules have an algorithm for some call of a collective. */
static inline int has_rule(int collective, int is_nonblocking)
{
    return !(is_nonblocking && shim.leaves_started) && hocket_has_rule(collective, is_nonblocking);
}

#pragma GCC visibility pop

#endif
