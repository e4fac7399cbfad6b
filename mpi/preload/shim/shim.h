/* The interface of this folder for the MPI functions of the preloaded library, which are in the folder above. It is
 * compiled against the user's MPI and calls only PMPI_*. The first comment of each file says what it owns.
 *
 * Messages use a private communicator of the same processes, apart from messages of the program. The first blocking or
 * persistent call with an algorithm creates it. If rules name nonblocking calls, it is created together with the
 * program's communicator: a nonblocking call must not wait, and MPI_Comm_idup of Open MPI confuses its messages with
 * messages of other nonblocking collectives. Calls without a reduction move bytes: data of types with gaps are packed,
 * so that ranks may describe the same data by different types. Reductions use the caller's type and PMPI_Reduce_local.
 */
#ifndef HOCKET_SHIM_H
#define HOCKET_SHIM_H

#include <mpi.h>

#include "hocket.h"

/* Open MPI 5 has sessions and persistent collectives, but not all of MPI 4. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1
#define HAS_PERSISTENT 1
#endif

/* A buffer of the caller, as an MPI call describes it. */
struct view {
    void *address;
    size_t count;
    MPI_Datatype type;
    /* The caller gave no usable memory: the library uses its own instead. */
    int is_missing;
};

/* The blocks of a buffer, one per rank or neighbour. `counts` are ints, or MPI_Counts if large; `places` are ints, or
 * MPI_Aints if large. Places are in extents of `type`, or in bytes if each block has its own type. `counts` is NULL if
 * there are no blocks. */
struct pieces {
    const void *counts, *places;
    int has_large_counts, has_large_places;
    MPI_Datatype type;
    const MPI_Datatype *types;
    /* The number of blocks; in neighbourhoods also the rank of each. */
    int number;
    const int32_t *ranks;
};

/* The neighbours of this rank, and the bytes of their blocks in the call that is being described. */
struct neighbors {
    hocket_neighbors graph;
    size_t *to_bytes, *from_bytes;
    /* Every rank knows that paths of edges join all ranks: blocks of one size then have that size on all ranks. */
    int is_joined;
    /* The arrays of the graph, which share one memory. */
    int32_t *destinations, *sources, *sizes, *offsets;
};

/* The forms of a collective: MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init. */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* A call of a collective, as the program made it. */
struct call {
    const char *function;
    MPI_Comm comm;
    enum form form;
    /* The call for libhocket. The MPI function sets `collective`, `is_nonblocking`, `root`, `in_place`, `count`,
     * `counts`, `counts_from`, `neighbors` and `is_uniform`; prepare() sets the rest. */
    hocket_call asked;
    /* The operator of a reduction; MPI_OP_NULL in calls that move bytes. */
    MPI_Op op;
    struct view input;
    struct view result;
    /* The blocks of input and result if they have places of their own; each view then has the bytes of all blocks. */
    struct pieces input_pieces, result_pieces;
    /* This rank receives its own blocks in another length than it sends them. */
    unsigned char is_uneven;
    /* MPI refuses the call on this rank. The rank still takes part for the others, with memory of the library, and
     * reduces nothing. */
    unsigned char is_refused;
    /* This rank does not know its part: it only counts the operation, to keep in step with the others. */
    unsigned char is_absent;
    /* Why the call is left to MPI, or NULL. prepare() sets it; it is the same on all ranks. */
    const char *reason;
    /* The mistake in the call on this rank, or NULL. */
    const char *wrong;
    /* When the call was made, if calls are counted. */
    double start_s;
    /* The error code that the call returns. Before it runs: the code that it returns if nothing else fails. */
    int code;
};

/* Leaves nonblocking calls to MPI, since the library will not see the program wait for them. Called before shim_begin,
 * on one or more ranks. */
void shim_leave_started(void);
/* Lets the other ranks of this node know that this one has the library; called before MPI is initialised. */
void shim_be_present(void);
/* Reads HOCKET_RULES, HOCKET_LOG and others. All ranks of MPI_COMM_WORLD call it after MPI is initialised. */
void shim_begin(void);
/* Completes the calls under way, prints the summary, and writes the log of the job; called before MPI is finalised. */
void shim_end(void);

#ifdef HAS_SESSIONS
/* A session begins or ends. Only MPI_Init reads rules: without it, calls are left to MPI, and the log says so. */
void shim_begin_session(MPI_Session session);
void shim_end_session(void);
#endif

/* Starts or stops counting calls, as HOCKET_LOG=summary does. Programs such as bench.c look it up by name. */
void hocket_count_calls(int are_counted);
/* Seconds from the complete result of this thread's last blocking call to the end of its algorithm: some algorithms
 * still serve other ranks in this time. */
double hocket_last_complete_for_s(void);

/* Records that MPI refuses the call on this rank: what is wrong, the class of the error. The first mistake counts. */
void shim_refuse(struct call *call, const char *wrong, int error);
/* Calls the error handler that MPI calls for an error of this communicator. */
void shim_call_handler(MPI_Comm comm, int code);
/* Runs a call; returns 0 if it is left to MPI. */
int shim_run(struct call *call);
/* Records the sizes below which calls of a communicator are left to MPI at once (left.h). */
void shim_learn_left(MPI_Comm comm);
/* Logs a blocking call that was left to MPI; `code` is MPI's result. Returns `code`. */
int shim_left(const struct call *call, int code);
/* Starts a call; returns 0 if it is left to MPI. */
int shim_start(struct call *call, MPI_Request *request);
/* Plans a persistent call; returns 0 if it is left to MPI. */
int shim_plan(struct call *call, MPI_Request *request);
/* Memory for two counts per rank, until the next call on its communicator. NULL if nothing needs the counts: the call
 * is left to MPI, and the job has no log. */
size_t *shim_counts(const struct call *call);
/* The neighbours of this rank; NULL if the call is left to MPI. */
struct neighbors *shim_neighbors(const struct call *call);
/* Sets rank and ranks of a communicator; returns 0 if all its calls are left to MPI. */
int shim_place(MPI_Comm comm, int *rank, int *ranks);
/* The class of MPI's error for a count, a type and an operator (or MPI_OP_NULL); MPI_SUCCESS if they are valid. */
int shim_error_of(MPI_Count count, MPI_Datatype type, MPI_Op op);
/* Returns 1 if elements of a type may lie at this address: NULL (MPI_BOTTOM) for types of absolute addresses. */
int shim_is_memory(const void *address, MPI_Datatype type);
/* Block `number` of a buffer: the number of a rank, or in neighbourhoods of a neighbour. */
struct view shim_piece(const struct pieces *pieces, void *address, int number);

/* Returns 1 if the rules have algorithms for nonblocking calls and apply to this communicator; the same on all ranks.
 * They do not apply to intercommunicators, whose nonblocking calls are wrong in MPICH 5.0.2, and to processes of
 * another MPI_COMM_WORLD, which may have other rules. */
int shim_may_be_active(MPI_Comm comm);
/* Returns 1 if no function may wait inside MPI: this rank has nonblocking calls under way, another thread may start
 * some, or persistent calls were started and not yet waited for. */
int shim_polls(void);

/* The library's request of a persistent call is an MPI request that is never started. MPI sees it as inactive and skips
 * it. IDLE is also the state of all other requests. */
enum state { IDLE, UNDER_WAY, COMPLETE };
/* Returns 1 if the library has requests; returns 1 if some of them may not be idle. */
int shim_has_own(void);
int shim_has_started(void);
enum state shim_state(MPI_Request request);
/* Starts a call again; returns 0 if the request is not the library's. */
int shim_start_again(MPI_Request request, int *code);
/* Waits for a started request, makes it idle, and returns its error and the communicator whose handler gets it. */
int shim_take(MPI_Request request, MPI_Comm *comm);
/* The program frees a request. */
void shim_forget(MPI_Request request);
/* Advances the nonblocking calls under way. */
void shim_progress(void);
/* Allocates memory; aborts the program if there is none. */
void *shim_room(size_t bytes);
/* Waits for a request of MPI, and advances the nonblocking calls meanwhile. */
int shim_wait(MPI_Request *request, MPI_Status *status);
/* Advances the nonblocking calls, and tests a request of MPI. */
int shim_test(MPI_Request *request, int *flag, MPI_Status *status);
/* Called before a collective that waits inside MPI. If nonblocking calls may be under way, waits for all ranks and
 * advances these calls meanwhile. */
void shim_meet(MPI_Comm comm);
/* The same, before a collective of a group of the communicator's ranks. */
void shim_meet_group(MPI_Comm comm, MPI_Group group);
/* All ranks of a new communicator call it: creates the private communicator if a rule names nonblocking calls. */
void shim_made(MPI_Comm comm);
/* All ranks call it after creating a distributed graph from a communicator. If that is a periodic grid, finds out
 * whether all ranks have their neighbours at the same relative places. */
void shim_made_on(MPI_Comm grid_comm, MPI_Comm comm);
/* Leaves all calls on a revoked communicator to MPI. Returns its private communicator, or MPI_COMM_NULL. */
MPI_Comm shim_revoked(MPI_Comm comm);
/* Completes the calls under way on a communicator that the program is about to free. */
void shim_settle(MPI_Comm comm);
/* Frees an operator once no call needs it. */
int shim_free_op(MPI_Op *op);

#endif
