/* What the parts of the preloaded library share. It is compiled against the user's MPI and calls only PMPI_*. */
#ifndef HOCKET_SHIM_H
#define HOCKET_SHIM_H

#include <mpi.h>

#include "hocket.h"

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#endif
/* Open MPI has sessions, but not all of MPI 4. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_SESSIONS 1
#endif

/* A buffer of the caller's, as an MPI call describes it. */
struct view {
    void *address;
    size_t count;
    MPI_Datatype type;
};

/* A call of a collective. Of at most 128 bytes, as each call clears and copies one. */
struct call {
    const char *function;
    MPI_Comm comm;
    hocket_collective collective;
    int root;
    unsigned char is_nonblocking, in_place;
    /* Whether this rank receives blocks of another length than it sends. */
    unsigned char is_uneven;
    /* Whether MPI will refuse it at once. */
    unsigned char is_refused;
    /* Of a reduction; MPI_OP_NULL of others, which move bytes. */
    MPI_Op op;
    struct view input;
    struct view result;
    /* Elements of a block, or of the vector; and of each rank's block, or NULL. */
    size_t count;
    const size_t *counts;
    /* Why it is left to MPI, or NULL. */
    const char *reason;
    /* What is wrong with it on this rank, which MPI does not refuse before others wait for it; or NULL. */
    const char *wrong;
    /* What it returned; before, what it has to return at least. */
    int code;
};

/* Nonblocking calls are left to MPI, as the program's waits for them will not be seen; before shim_begin, on any rank. */
void shim_leave_started(void);
/* Reads HOCKET_RULES and HOCKET_LOG; all ranks of MPI_COMM_WORLD call it, once MPI is initialised. */
void shim_begin(void);
/* Ends what is under way and prints the summary; before MPI is finalised. */
void shim_end(void);

#ifdef HAS_SESSIONS
/* A session begins and ends: without MPI_Init, where rules are read, calls are left to MPI, and the log says so. */
void shim_begin_session(MPI_Session session);
void shim_end_session(void);
#endif

/* Whether calls are counted from here on, as with HOCKET_LOG=summary: for programs that look for it, such as bench.c. */
void hocket_count_calls(int are_counted);

/* Runs a call; 0 if it is left to MPI. */
int shim_run(struct call *call);
/* Starts a call; 0 if it is left to MPI. */
int shim_start(struct call *call, MPI_Request *request);
/* Room for one count of each rank, until the next call on its communicator; NULL if the call is left to MPI. */
size_t *shim_counts(const struct call *call);
/* Rank and ranks of a communicator; 0 where MPI has to say what is wrong with it. */
int shim_place(MPI_Comm comm, int *rank, int *ranks);
/* Whether MPI takes a count, a type, and an operator for it or MPI_OP_NULL. */
int shim_takes(MPI_Count count, MPI_Datatype type, MPI_Op op);
/* Why MPI has to complain about the address of a buffer, or NULL. */
const char *shim_objection(const void *address, MPI_Count count, MPI_Datatype type);

/* Whether the rules have algorithms for nonblocking calls, and the communicator is one that they are for: the same on all
 * ranks. Between groups MPICH 5.0.2 gets nonblocking calls wrong, and processes of another MPI_COMM_WORLD may have no
 * such rules. */
int shim_may_be_active(MPI_Comm comm);
/* Whether calls that were started are under way on this rank, or another thread may start some: then nothing may wait inside
 * MPI. */
int shim_polls(void);
/* Goes on with them. */
void shim_progress(void);
/* Memory, which there is: else the program is ended. */
void *shim_room(size_t bytes);
/* Waits for a request of MPI's, and goes on with them. */
int shim_wait(MPI_Request *request, MPI_Status *status);
/* Tests one. */
int shim_test(MPI_Request *request, int *flag, MPI_Status *status);
/* Before a collective that waits inside MPI: where nonblocking calls may be under way, waits for all ranks, and goes on with
 * them. */
void shim_meet(MPI_Comm comm);
/* The same for a collective of a group of its ranks. */
void shim_meet_group(MPI_Comm comm, MPI_Group group);
/* All ranks of a communicator have just created it: it gets its private communicator, if a rule names nonblocking calls. */
void shim_made(MPI_Comm comm);
/* A communicator is revoked: its calls are left to MPI. The one that its messages went over, or MPI_COMM_NULL. */
MPI_Comm shim_revoked(MPI_Comm comm);
/* Ends what was started on a communicator that is to be freed. */
void shim_settle(MPI_Comm comm);
/* Frees an operator, when nothing that is under way may need it. */
int shim_free_op(MPI_Op *op);

#endif
