/* hocket.h: collective algorithms as programs over functions that move bytes.
 *
 * libhocket chooses the algorithm of a call by rules, and runs it: it starts sends and receives, reduces and copies, by
 * functions that the caller gives. It knows no MPI type and creates no threads. For a call like an earlier one it allocates
 * no memory, unless the call has `counts`, or its algorithm creates lists of ranks.
 *
 *     hocket_communicator *communicator = hocket_communicator_new(rank, ranks, &transport);
 *     hocket_operation *operation = hocket_prepare(communicator, &call, &reason);
 *     hocket_start(operation, input, result, user);
 *     while (hocket_advance(operation, 1, &code) == HOCKET_WAITS)
 *         ;
 *     hocket_finish(communicator, operation);
 *
 * A communicator, and what it starts, is used by one thread at a time. Texts end with 0 and are UTF-8.
 */
#ifndef HOCKET_H
#define HOCKET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define HOCKET_INTERFACE 1
int hocket_interface(void);

typedef enum hocket_collective {
    HOCKET_ALLGATHER,
    HOCKET_ALLREDUCE,
    HOCKET_ALLTOALL,
    HOCKET_ALLTOALLV,
    HOCKET_BARRIER,
    HOCKET_BROADCAST,
    HOCKET_EXSCAN,
    HOCKET_GATHER,
    HOCKET_GATHERV,
    HOCKET_NEIGHBOR_ALLGATHER,
    HOCKET_NEIGHBOR_ALLTOALL,
    HOCKET_REDUCE,
    HOCKET_REDUCE_SCATTER,
    HOCKET_SCAN,
    HOCKET_SCATTER,
    HOCKET_SCATTERV
} hocket_collective;
#define HOCKET_COLLECTIVES (HOCKET_SCATTERV + 1)

/* A message that has ended: the slot under which it was started and, of a receive, the sender and the number of elements
 * received. */
typedef struct hocket_ended {
    uint32_t slot;
    uint32_t source;
    size_t count;
} hocket_ended;

/* The source of a receive that takes a message from any rank. */
#define HOCKET_ANY_SOURCE (-1)

/* What `send` may return, but to a domain: the data have left, and `test` does not tell of the message. */
#define HOCKET_HAS_LEFT (-1)

/* Functions of the caller. `user` is the argument of hocket_start. Each function returns 0, or a code with which the
 * operation then fails. Slots are small numbers, used again as soon as their message has ended. */
typedef struct hocket_transport {
    /* Starts to send `count` elements; returns 0, HOCKET_HAS_LEFT, or a code. */
    int (*send)(void *user, uint32_t slot, const void *data, size_t count, int32_t to, uint32_t tag);
    /* Starts to receive up to `count` elements. */
    int (*receive)(void *user, uint32_t slot, void *into, size_t count, int32_t from, uint32_t tag);
    /* Takes up to `room` messages that have ended; if `may_wait`, waits for one when there is none. */
    int (*test)(void *user, int may_wait, hocket_ended *ended, size_t room, size_t *count);
    /* target[i] = source[i] operator target[i] */
    int (*reduce)(void *user, const void *source, void *target, size_t count);
    /* target[i] = source[i] */
    int (*copy)(void *user, const void *source, void *target, size_t count);
} hocket_transport;

/* The layout of elements in memory, in bytes, as of MPI_Type_get_extent and MPI_Type_get_true_extent. */
typedef struct hocket_layout {
    ptrdiff_t extent;
    ptrdiff_t true_lower_bound;
    size_t true_extent;
} hocket_layout;

/* The neighbours of a rank in a neighbourhood collective: the ranks of the blocks that it sends, and of those that it receives. */
typedef struct hocket_neighbors {
    int32_t sent, received;
    /* HOCKET_NO_RANK where a block has none, as MPI_PROC_NULL. */
    const int32_t *destinations, *sources;
    /* 1 if they are the two neighbours along each dimension of a grid: what goes one way comes from the other. */
    int is_cartesian;
    /* Where every rank knows that all have their neighbours at the same relative places of a grid: its dimensions, the last of which
     * changes first from rank to rank; whether its borders meet; and each place, as one number per dimension. Else `dimensions` is 0. */
    int32_t dimensions;
    int is_periodic;
    const int32_t *sizes, *offsets;
} hocket_neighbors;
#define HOCKET_NO_RANK (-1)

/* A call. Every rank gives the same values, except `in_place`, which is 1 if this rank's input lies in its result, as with
 * MPI_IN_PLACE. `count` is that of MPI: elements of a block (allgather, alltoall, gather, scatter, reduce_scatter) or of
 * the vector; `counts`, if not NULL, holds one count for the block of each rank. In alltoallv every rank gives those of its
 * own blocks: `counts` to each rank, `counts_from` from each. In gatherv and scatterv only the root has `counts`, and the
 * others have the `count` of their own block. In neighbourhood collectives every rank gives its `neighbors`, and the counts of
 * its blocks as in alltoallv; in neighbor_allgather it sends the same `count` to all. */
typedef struct hocket_call {
    int32_t collective;
    /* 1 if the call returns before it is complete, nonblocking or persistent: such calls have rules of their own. */
    int is_nonblocking;
    int32_t root;
    int in_place;
    int commutative;
    size_t count;
    const size_t *counts;
    const size_t *counts_from;
    const hocket_neighbors *neighbors;
    /* 1 if all blocks of all neighbours have the same count, and every rank knows it. */
    int is_uniform;
    size_t element_bytes;
    hocket_layout layout;
} hocket_call;

typedef struct hocket_communicator hocket_communicator;
typedef struct hocket_operation hocket_operation;

/* Sets the rules of all communicators, in place of those set before; `file` names them in errors. No operation may be running. All
 * ranks set the same rules between the same calls. Returns 0, or 1 and one line in `error`: the rules then stay. */
int hocket_set_rules(const char *text, const char *file, char *error, size_t room);
/* Adds rules that are tried after those set before; otherwise the same. */
int hocket_add_rules(const char *text, const char *file, char *error, size_t room);
/* Returns 1 if some rule has an algorithm for such calls of a collective, or of any collective if it is HOCKET_ANY. */
#define HOCKET_ANY (-1)
int hocket_has_rule(int32_t collective, int is_nonblocking);
/* The address of the rules, NULL before any are set: another one for each set; atomic. */
extern const void *hocket_rules;
/* The bytes below which all blocking calls of a collective are left to the caller's own algorithm, whatever else they are: those
 * of `count` elements, where all blocks are alike. 0 if any rule has an algorithm for nonblocking calls. */
uint64_t hocket_left_below(int32_t collective, int32_t ranks);

/* A communicator, as one of its ranks sees it. It may be freed when none of its operations is running. */
hocket_communicator *hocket_communicator_new(int32_t rank, int32_t ranks, const hocket_transport *transport);
/* Tells, before the first call, which ranks share a node: those that have the same number here. */
void hocket_communicator_nodes(hocket_communicator *communicator, const int32_t *nodes);
void hocket_communicator_free(hocket_communicator *communicator);

/* Returns the algorithm for a call, or NULL and the reason in *reason, which stays until the communicator's next call. */
hocket_operation *hocket_prepare(hocket_communicator *communicator, const hocket_call *call, const char **reason);
/* Starts an operation on these buffers, which are the operation's until it is done. Then it can be started again. */
void hocket_start(hocket_operation *operation, const void *input, void *result, void *user);

#define HOCKET_FAILED (-1)
#define HOCKET_WAITS 0
#define HOCKET_DONE 1
/* Advances an operation as far as possible; if it `may_wait`, it waits for messages when it can do nothing else. If it has
 * failed, *code is the code that the caller's function returned; hocket_finish is not called then, as messages may still
 * be under way. */
int hocket_advance(hocket_operation *operation, int may_wait, int *code);

/* Writes "collective algorithm"; returns the length of the whole text. */
size_t hocket_algorithm(const hocket_operation *operation, char *text, size_t room);

/* For how many seconds the result of this rank has been complete; 0 if the program has not said so, and is complete at its end. */
double hocket_complete_for_s(const hocket_operation *operation);

/* Gives an operation that is done back to its communicator. */
void hocket_finish(hocket_communicator *communicator, hocket_operation *operation);

/* Dynamic multicast: a master sends to any subset of ranks, which need not know of it.
 *
 *     hocket_domain *domain = hocket_domain_new(rank, ranks, master, NULL, &transport, user, error, sizeof error);
 *     hocket_domain_send(domain, members, members_bytes, data, bytes, &id, &reason);       the master
 *     while (!hocket_domain_take(domain, &multicast))                                       a member
 *         hocket_domain_advance(domain, 1, &code);
 *     hocket_domain_release(domain, multicast.id);
 *
 * The transport's elements are bytes, but for collectives over a group; tags are below 32768, and nobody else sends
 * messages to these ranks by this transport. A member takes multicasts in the order in which the master sent them.
 * Every rank has to call hocket_domain_advance again and again: it forwards what others wait for. The master has at
 * most 256 multicasts and, if there are several, 64 MiB on their way; others wait in its queue, where their data lie.
 * A domain is used by one thread at a time. */
typedef struct hocket_domain hocket_domain;

/* A multicast that was taken; what the pointers point to is there until it is released. */
typedef struct hocket_multicast {
    uint64_t id; /* its number in the domain, from 1 on */
    const void *data;
    size_t bytes;
    int32_t rank; /* this rank's number among the members, from 0 on */
    int32_t size; /* members */
    const uint8_t *members; /* bit r mod 8 of byte r / 8 says whether rank r is one */
    const uint32_t *ranks; /* all members, ascending */
} hocket_multicast;

/* This rank's part. `rules` is a text of rules, "measured" (as NULL), "simulated" or "paper"; of the rules that fit a call over a
 * group the first decides whose algorithm does not refuse it. NULL, and one line in `error`, if something is wrong. */
hocket_domain *hocket_domain_new(int32_t rank, int32_t ranks, int32_t master, const char *rules,
                                 const hocket_transport *transport, void *user, char *error, size_t room);
void hocket_domain_free(hocket_domain *domain);

/* The master begins a multicast to the ranks of a bitmap of ceil(ranks / 8) bytes; the data must stay until they have
 * left. Returns 0, or 1 and one line in *reason, which is there until the domain's next call. The id is 0 if there are
 * no members: it is complete. */
int hocket_domain_send(hocket_domain *domain, const uint8_t *members, size_t members_bytes, const void *data,
                       size_t bytes, uint64_t *id, const char **reason);
/* Whether the data have left; whether every member has released it; how many multicasts are not complete. */
int hocket_domain_has_left(const hocket_domain *domain, uint64_t id);
int hocket_domain_is_complete(const hocket_domain *domain, uint64_t id);
size_t hocket_domain_incomplete(const hocket_domain *domain);
/* How many multicasts this rank has released, but is still to acknowledge for others that have not. */
size_t hocket_domain_unacknowledged(const hocket_domain *domain);

#define HOCKET_BAD_HEADER (-2)
#define HOCKET_TOO_MANY_TAGS (-3)
#define HOCKET_NO_MEMORY (-4)
/* Goes on with everything; if it `may_wait`, it waits for a message when none has ended. Returns 1 if some message has
 * ended, 0 if none, or HOCKET_FAILED and the function's code, or one of these, in *code: then it always will. */
int hocket_domain_advance(hocket_domain *domain, int may_wait, int *code);

/* The next multicast may be received here, if it is not longer: its data are then here when it is taken. Returns 0 if
 * there is such an offer already. It is to be withdrawn when one was taken. */
int hocket_domain_offer(hocket_domain *domain, void *into, size_t bytes);
void hocket_domain_withdraw(hocket_domain *domain);
/* Takes the next multicast. Returns 0 if it is not here. */
int hocket_domain_take(hocket_domain *domain, hocket_multicast *multicast);
/* This rank has done with it. Returns 0 if it does not have it, or a collective is running over its group. */
int hocket_domain_release(hocket_domain *domain, uint64_t id);
/* Writes the name of the algorithm that distributed a multicast which is not released, or "inlined"; returns its whole
 * length. */
size_t hocket_domain_distribution(const hocket_domain *domain, uint64_t id, char *text, size_t room);

/* Starts a collective over the group of a multicast that is taken and not released; `size` is that of the multicast,
 * and the root is a number among the members. One at a time. The transport is called with `user`. Returns 0, or 1 and
 * one line in *reason. */
int hocket_domain_start(hocket_domain *domain, uint64_t id, int32_t size, const hocket_call *call, const void *input,
                        void *result, void *user, const char **reason);
/* As hocket_advance returns; hocket_domain_advance is what goes on with it. */
int hocket_domain_collective(hocket_domain *domain, uint64_t id, int *code);

/* A call of a collective, as the log of the process counts it. */
typedef struct hocket_logged {
    const char *function;
    int32_t collective;
    int32_t ranks;
    /* 1 on the one rank of the communicator that counts the call for all; bytes and time are those of each rank. */
    int is_counted;
    /* The size as rules see it, if all ranks know it. */
    int has_size;
    size_t size_bytes;
    size_t bytes;
    /* Not a number if it was not measured. */
    double time_s;
} hocket_logged;

/* A call ran an algorithm, or was left to MPI. */
void hocket_log_ran(const hocket_logged *call, const hocket_operation *operation);
void hocket_log_passed(const hocket_logged *call, const char *reason);
/* Writes a table of the calls of this process; returns the length of the whole text. */
size_t hocket_log_summary(char *text, size_t room);
/* Writes the log, a line of JSON for each entry; returns the length of the whole text. */
size_t hocket_log_lines(char *text, size_t room);
/* Adds the lines of another process; returns 1 if some are not of a log. The summary is then that of both. */
int hocket_log_merge(const char *lines);

/* A job. What is not known is NULL; `start` is a time in UTC as text. */
typedef struct hocket_job {
    const char *mpi, *program, *user, *host, *job, *rules, *start;
    double elapsed_s;
    int32_t ranks, nodes;
} hocket_job;
/* Writes the first line of a job's log, before those of hocket_log_lines; returns its length. */
size_t hocket_log_job(const hocket_job *job, char *text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
