/* The state of a communicator of the program: its private communicator, and its algorithms, for which libhocket keeps the operations of
 * earlier calls. It is an attribute of the communicator, and lives until that is freed and no started call uses it. */
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
    /* The node of each rank, and memory that those of this node share, or NULL. */
    int *nodes;
    struct node_memory *memory;
    /* The numbers of the next operations of each form: ranks may order one form and the other differently. */
    unsigned sequences[FORMS];
    /* By collective, the bytes below which blocking calls are left to MPI. `left_by`, the rules that say so, is atomic. */
    uint64_t left_below[HOCKET_COLLECTIVES];
    const void *left_by;
    /* Two counts per rank, for the call that is described. */
    size_t *counts;
    /* Those of this rank; NULL before they are asked for. */
    struct neighbors *neighbors;
    /* Guards `algorithms`, `sequences`, and the change of `left_below`. */
    pthread_mutex_t lock;
    /* The communicator itself, and started calls; atomic. */
    int users;
    /* The program has freed the communicator; atomic. */
    int is_freed;
};

/* Creates the attribute, for algorithms that send by these functions, and removes it from the communicators that the program cannot free. */
void begin_communicators(const hocket_transport *by);
void end_communicators(void);

/* The communicator that this thread used last, and how many had been freed then. */
struct last_used {
    MPI_Comm comm;
    struct communicator *state;
    unsigned freed;
};
extern THREAD_OWNED struct last_used last_used;
/* Number of communicators with a state that have been freed: a state used last is not trusted after it has changed; atomic. */
extern unsigned freed_communicators;

/* The state of a communicator, created if there is none; NULL if this is no communicator. */
struct communicator *state_of(MPI_Comm comm);
/* The state of a communicator; NULL if there is none. */
struct communicator *known_state_of(MPI_Comm comm);
/* Creates the private communicator, without the attributes: their functions belong to the program. All ranks call this
 * in the same order, and it waits for them. Returns 0 if MPI cannot create it. */
int has_private(MPI_Comm comm, struct communicator *state);
/* The communicator, or a call that was started on it, is gone: the last one frees the state. */
void release_communicator(struct communicator *state);

#pragma GCC visibility pop

#endif
