/* What the MPI functions of the preloaded library, in the folder above, use of it. It is compiled against the user's MPI
 * and calls only PMPI_*.
 *
 *     types.c           shapes of data types, and what MPI thinks of types and operators
 *     transport.c       the functions that libhocket calls: messages, reductions, copies
 *     communicator.c    the state of each communicator
 *     node_memory.c     memory that the ranks of a node share, by which short blocking calls go
 *     neighbors.c       the neighbours of a rank, where a communicator has a topology
 *     left.h            blocking calls that are left to MPI at once, by their size
 *     operation.c       one call that an algorithm runs, from its description to its result
 *     started.c         nonblocking calls under way, their requests, and waiting
 *     meeting.c         waiting for all ranks
 *     persistent.c      persistent calls, and their requests
 *     operators.c       operators that the program frees while calls need them
 *     blocking.c        blocking calls, from beginning to end
 *     log.c             counts of calls, the summary, and the log of the job
 *     life_cycle.c      beginning and end
 *     process.c         the settings of the process, and helpers of all parts
 *
 * Messages go over a private communicator of the same processes, so that they never meet messages of the program. It is
 * created by the first blocking call that has an algorithm; where rules name nonblocking calls, together with the
 * caller's communicator: a nonblocking call must not wait, and so cannot create it, and Open MPI's MPI_Comm_idup must
 * not run beside other nonblocking collectives, since their messages meet. Calls that do not reduce move bytes: data of
 * types with gaps is packed, so that ranks may describe the same data by different types. Reductions work on the caller's
 * type, with PMPI_Reduce_local.
 */
#ifndef HOCKET_SHIM_H
#define HOCKET_SHIM_H

#include <mpi.h>

#include "hocket.h"

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#endif
/* Open MPI has sessions and persistent collectives, but not all of MPI 4. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1
#define HAS_PERSISTENT 1
#endif

/* A buffer of the caller, as an MPI call describes it. */
struct view {
    void *address;
    size_t count;
    MPI_Datatype type;
    /* The caller gave no memory that can be used: the library's own stands in for it. */
    int is_missing;
};

/* The blocks of a buffer, one for each rank or neighbour, where the program has them: `counts` and `places` are ints, or
 * MPI_Counts and MPI_Aints if they are large. Places count extents of `type`, or bytes if each block has a type of its own. There are
 * none if `counts` is NULL. */
struct pieces {
    const void *counts, *places;
    int has_large_counts, has_large_places;
    MPI_Datatype type;
    const MPI_Datatype *types;
    /* How many there are, and, in neighbourhoods, the rank of each. */
    int number;
    const int32_t *ranks;
};

/* The neighbours of this rank, and the bytes of their blocks in the call that is described. */
struct neighbors {
    hocket_neighbors graph;
    size_t *to_bytes, *from_bytes;
    /* Every rank knows that edges lead from each rank to all others, so that blocks of one size have the same size on all ranks. */
    int is_joined;
    /* The memory of all numbers of the graph. */
    int32_t *numbers;
};

/* How a program calls a collective: MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init. */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* A call of a collective, as the program made it. */
struct call {
    const char *function;
    MPI_Comm comm;
    enum form form;
    /* What libhocket is asked. The MPI function sets `collective`, `is_nonblocking`, `root`, `in_place`, `count` and `counts`;
     * prepare() sets the rest. */
    hocket_call asked;
    /* The operator of a reduction; MPI_OP_NULL in other calls, which move bytes. */
    MPI_Op op;
    struct view input;
    struct view result;
    /* Where blocks have places of their own, those of input and result; the views then have the bytes of all. */
    struct pieces input_pieces, result_pieces;
    /* This rank receives blocks of another length than it sends. */
    unsigned char is_uneven;
    /* MPI refuses the call on this rank, which takes part with memory of the library's own, for the sake of the others, and reduces
     * nothing. */
    unsigned char is_refused;
    /* This rank does not know its part: it only keeps in step with the others. */
    unsigned char is_absent;
    /* Why the call is left to MPI, or NULL: set by prepare(), for reasons that are the same on all ranks. */
    const char *reason;
    /* What is wrong with the call on this rank, or NULL. */
    const char *wrong;
    /* When it was made, if calls are counted. */
    double start_s;
    /* The error code that the call returns; before it has run, the code that it returns if nothing else fails. */
    int code;
};

/* Leaves nonblocking calls to MPI, as the program's waits for them will not be seen; called before shim_begin, on any
 * rank. */
void shim_leave_started(void);
/* Reads HOCKET_RULES, HOCKET_LOG and the like; all ranks of MPI_COMM_WORLD call it, once MPI is initialised. */
void shim_begin(void);
/* Completes the calls under way, prints the summary, and writes the log of the job; called before MPI is finalised. */
void shim_end(void);

#ifdef HAS_SESSIONS
/* A session begins and ends. Rules are read in MPI_Init; without it, calls are left to MPI, and the log says so. */
void shim_begin_session(MPI_Session session);
void shim_end_session(void);
#endif

/* Sets whether calls are counted from here on, as with HOCKET_LOG=summary; programs such as bench.c look it up by name. */
void hocket_count_calls(int are_counted);
/* For how many seconds the result of this thread's last blocking call had been complete when the algorithm ended: some then
 * still serve other ranks. */
double hocket_last_complete_for_s(void);

/* A call that MPI refuses on this rank: says what is wrong, and which class of error MPI returns. The first mistake counts. */
void shim_refuse(struct call *call, const char *wrong, int error);
/* Runs a call; returns 0 if it is left to MPI. */
int shim_run(struct call *call);
/* Learns which calls of a communicator of the program are left to MPI at once. */
void shim_learn_left(MPI_Comm comm);
/* Logs a blocking call that was left to MPI, which returned this code; returns the code. */
int shim_left(const struct call *call, int code);
/* Starts a call; returns 0 if it is left to MPI. */
int shim_start(struct call *call, MPI_Request *request);
/* Plans a persistent call; returns 0 if it is left to MPI. */
int shim_plan(struct call *call, MPI_Request *request);
/* Memory for two counts of each rank, until the next call on its communicator; NULL if the call is left to MPI and the job
 * has no log. */
size_t *shim_counts(const struct call *call);
/* The neighbours of this rank; NULL if the call is left to MPI. */
struct neighbors *shim_neighbors(const struct call *call);
/* Sets rank and ranks of a communicator; returns 0 where all its calls are left to MPI. */
int shim_place(MPI_Comm comm, int *rank, int *ranks);
/* The class of the error with which MPI refuses a count, a type, or an operator for it or MPI_OP_NULL; MPI_SUCCESS if it does not. */
int shim_error_of(MPI_Count count, MPI_Datatype type, MPI_Op op);
/* Returns 1 if elements of a type may lie at this address: types with absolute addresses lie at MPI_BOTTOM, which is NULL. */
int shim_is_memory(const void *address, MPI_Datatype type);
/* A block, by its number, which is that of a rank but in neighbourhoods. */
struct view shim_piece(const struct pieces *pieces, void *address, int number);

/* Returns 1 if the rules have algorithms for nonblocking calls and apply to this communicator: the same on all ranks. They
 * do not apply between groups, where MPICH 5.0.2 gets nonblocking calls wrong, nor with processes of another
 * MPI_COMM_WORLD, which may have other rules. */
int shim_may_be_active(MPI_Comm comm);
/* Returns 1 if nonblocking calls are under way on this rank, or another thread may start some, or persistent calls have
 * started for which the program has not waited: no function may then wait inside MPI. */
int shim_polls(void);

/* A request of the library's own, of a persistent call, is one of MPI's that is never started: to MPI it is inactive, and
 * the functions that wait skip it there. Of requests that are not the library's, or not started, the state is IDLE. */
enum state { IDLE, UNDER_WAY, COMPLETE };
/* Returns 1 if there are requests of the library's own, and if there may be some that are not idle. */
int shim_has_own(void);
int shim_has_started(void);
enum state shim_state(MPI_Request request);
/* Starts a call again; returns 0 if the request is not the library's. */
int shim_start_again(MPI_Request request, int *code);
/* Waits for a started request, makes it idle, and returns the error of its call, and the communicator whose handler is told. */
int shim_take(MPI_Request request, MPI_Comm *comm);
/* Forgets a request that the program frees. */
void shim_forget(MPI_Request request);
/* Advances the nonblocking calls under way. */
void shim_progress(void);
/* Allocates memory; if there is none, the program is aborted. */
void *shim_room(size_t bytes);
/* Waits for a request of MPI's, and advances the nonblocking calls meanwhile. */
int shim_wait(MPI_Request *request, MPI_Status *status);
/* Advances the nonblocking calls, and tests a request of MPI's. */
int shim_test(MPI_Request *request, int *flag, MPI_Status *status);
/* Called before a collective that waits inside MPI: where nonblocking calls may be under way, waits for all ranks, and
 * advances these calls meanwhile. */
void shim_meet(MPI_Comm comm);
/* The same before a collective of a group of the communicator's ranks. */
void shim_meet_group(MPI_Comm comm, MPI_Group group);
/* Called by all ranks of a communicator that they have just created: it gets its private communicator if a rule names
 * nonblocking calls. */
void shim_made(MPI_Comm comm);
/* Called by all ranks that have just created a distributed graph on a communicator: if that is a grid whose borders meet, they find
 * out whether all have their neighbours at the same relative places. */
void shim_made_on(MPI_Comm grid_comm, MPI_Comm comm);
/* Leaves the calls on a revoked communicator to MPI. Returns its private communicator, or MPI_COMM_NULL. */
MPI_Comm shim_revoked(MPI_Comm comm);
/* Completes the calls that were started on a communicator that is to be freed. */
void shim_settle(MPI_Comm comm);
/* Frees an operator, once no call under way may need it. */
int shim_free_op(MPI_Op *op);

#endif
