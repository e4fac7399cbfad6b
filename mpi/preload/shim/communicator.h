/* The state of a communicator: its private communicator, and its algorithms, which keep operations for later calls. It
 * is an attribute. It lives until the communicator is freed and no started call uses it. */
#ifndef HOCKET_SHIM_COMMUNICATOR_H
#define HOCKET_SHIM_COMMUNICATOR_H

#include "node_memory.h"
#include "process.h"

#pragma GCC visibility push(hidden)

struct communicator {
    MPI_Comm private_comm;
    int rank, ranks;
    /* Why all its calls are left to MPI, or NULL. */
    const char *reason;
    hocket_communicator *algorithms;
    /* The node of each rank; the shared memory of this node, or NULL. */
    int *nodes;
    struct node_memory *memory;
    /* Blocking calls that an algorithm has run, up to the one that asks for the memory. */
    int calls_before_memory;
    /* The numbers of the next operations, one per form: ranks may order calls of different forms differently. */
    unsigned sequences[FORMS];
    /* Per collective: blocking calls below these bytes are left to MPI, by the rules `left_rules`, which is atomic. */
    uint64_t left_below[HOCKET_COLLECTIVES];
    const void *left_rules;
    /* Two counts per rank for the call that is being described. */
    size_t *counts;
    /* The neighbours of this rank; NULL until they are needed. */
    struct neighbors *neighbors;
    /* Guards `algorithms`, `sequences` and changes of `left_below`. */
    pthread_mutex_t lock;
    /* The number of users: the communicator itself and its started calls; atomic. */
    int users;
    /* The program has freed the communicator; atomic. */
    int is_freed;
    /* The next one in the list of communicators without users. */
    struct communicator *next;
};

/* The functions by which algorithms send, in transport.c. */
extern const hocket_transport transport;

/* Creates the attribute, and removes it from communicators that the program cannot free. */
void begin_communicators(void);
void end_communicators(void);

/* The communicator that this thread used last; `freed_count` is the value of freed_communicators at that time. */
struct last_used {
    MPI_Comm comm;
    struct communicator *state;
    unsigned freed_count;
};
extern THREAD_OWNED struct last_used last_used;
/* Counts freed communicators with a state: once it changes, last_used is invalid; atomic. */
extern unsigned freed_communicators;

/* The state of a communicator, created if missing; NULL if this is no communicator. */
struct communicator *state_of(MPI_Comm comm);
/* The state of a communicator; NULL if there is none. */
struct communicator *known_state_of(MPI_Comm comm);
/* Creates the private communicator without the attributes, whose functions belong to the program. All ranks call this
 * in the same order and wait for each other. Returns 0 if MPI cannot create it. */
int has_private(MPI_Comm comm, struct communicator *state);
/* Removes one user, the communicator or a started call. After the last one, free_unused_communicators frees the state. */
void release_communicator(struct communicator *state);
/* Frees the states without users. Not called inside MPI's callbacks, since it calls MPI. */
void free_unused_communicators(void);

#pragma GCC visibility pop

#endif
