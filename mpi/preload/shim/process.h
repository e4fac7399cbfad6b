/* Settings of the process, and helpers of all parts. life_cycle.c sets the settings when MPI is initialised. Later
 * only `is_ready` and `log_summary` change, and sessions set some of them.
 *
 * The page docs/mpi-internals.md says what each lock guards, and which locks a thread may take while it holds another.
 * A blocking operation belongs to its thread and needs no lock. Atomic are `users`, `is_freed`, `left_rules`,
 * `idle_rules`, `freed_communicators`, `active_count`, `ended`, `unused`, the final code of a started call, and for
 * persistent calls `planned_count`, `started_count` and `state`.
 */
#ifndef HOCKET_SHIM_PROCESS_H
#define HOCKET_SHIM_PROCESS_H

#include <pthread.h>
#include <stddef.h>

#include "shim.h"

/* Tells ThreadSanitizer that libhocket, compiled without it, changes an object. */
#ifdef __SANITIZE_THREAD__
void __tsan_write8(void *object);
#define CHANGES(object) __tsan_write8(object)
#else
#define CHANGES(object) ((void)0)
#endif

/* Hides internal functions, so that their names cannot clash with names of the program. */
#pragma GCC visibility push(hidden)

struct shim {
    int is_ready;
    /* Why all calls are left to MPI, or NULL. */
    const char *off;
    /* These rules have no algorithm for any call, or no call may follow them; NULL before rules are set; atomic. */
    const void *idle_rules;
    /* Nonblocking and persistent calls are left to MPI. */
    int leaves_started;
    int log_calls, log_summary, world_rank;
    /* Calls are counted for the job's log. */
    int log_job;
    /* Short messages within a node may use shared memory. */
    int shares_memory;
    /* A waiting thread yields its processor: this node has more ranks than processors, or the program has threads, which
     * wait for a lock that this one takes again and again. */
    int is_crowded;
    /* For each rank of MPI_COMM_WORLD: the lowest rank on its node. */
    int *nodes;
    /* This process has MPI_THREAD_MULTIPLE; some process has. */
    int has_threads, some_have_threads;
    /* Operations of one communicator and form with distinct tags; later ones reuse the tags. */
    unsigned most_operations;
};
extern struct shim shim;

/* State of a thread about its last call. This fast model needs a library that is loaded at the program's start. */
#define THREAD_OWNED _Thread_local __attribute__((tls_model("initial-exec")))
#define THREAD_CACHE static THREAD_OWNED

/* Number of tags of one operation. */
enum { TAGS_PER_OPERATION = 64 };

/* The first tag of operation `number` of its form. */
static inline int first_tag(unsigned number, enum form form)
{
    return (int)((number % shim.most_operations * FORMS + form) * TAGS_PER_OPERATION);
}

/* A tag that no operation has. */
static inline int other_tag(void)
{
    return (int)(shim.most_operations * FORMS * TAGS_PER_OPERATION);
}

/* Prints one line to stderr. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Resizes memory and keeps its contents; aborts the program if there is no memory. */
void *resize(void *memory, size_t bytes);

/* Only programs with MPI_THREAD_MULTIPLE need the locks. */
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

/* Records that no call follows the present rules, if that is so. */
void note_idle_rules(void);

#pragma GCC visibility pop

#endif
