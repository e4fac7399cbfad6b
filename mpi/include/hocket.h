/* hocket.h: collective algorithms as programs over functions that move bytes.
 *
 * libhocket chooses the algorithm of a call by rules and runs it. The caller gives the functions that send, receive,
 * reduce and copy. libhocket uses no MPI type and creates no thread. A call like an earlier one allocates no memory,
 * unless the call has `counts` or its algorithm creates lists of ranks.
 *
 *     hocket_communicator *communicator = hocket_communicator_new(rank, ranks, &transport);
 *     hocket_operation *operation = hocket_prepare(communicator, &call, &reason);
 *     hocket_start(operation, input, result, user);
 *     while (hocket_advance(operation, 1, &code) == HOCKET_WAITS)
 *         ;
 *     hocket_finish(communicator, operation);
 *
 * One thread at a time uses a communicator and its operations. Texts are UTF-8 and end with 0.
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

/* A message that has ended: its slot; for a receive also the sender and the number of elements. */
typedef struct hocket_ended {
    uint32_t slot;
    uint32_t source;
    size_t count;
} hocket_ended;

/* The source of a receive that accepts any rank. */
#define HOCKET_ANY_SOURCE (-1)

/* `send` may return this: the data have left, and `test` will not report the message. Not allowed for a domain. */
#define HOCKET_HAS_LEFT (-1)

/* Functions of the caller. `user` is the argument of hocket_start. Each function returns 0 or an error code; the
 * operation then fails with this code. A slot is a small number, used again as soon as its message has ended. */
typedef struct hocket_transport {
    /* Starts to send `count` elements; returns 0, HOCKET_HAS_LEFT, or a code. */
    int (*send)(void *user, uint32_t slot, const void *data, size_t count, int32_t to, uint32_t tag);
    /* Starts to receive up to `count` elements. */
    int (*receive)(void *user, uint32_t slot, void *into, size_t count, int32_t from, uint32_t tag);
    /* Reports up to `room` messages that have ended. If none has ended and `may_wait` is 1, waits for one. */
    int (*test)(void *user, int may_wait, hocket_ended *ended, size_t room, size_t *count);
    /* target[i] = source[i] operator target[i] */
    int (*reduce)(void *user, const void *source, void *target, size_t count);
    /* target[i] = source[i] */
    int (*copy)(void *user, const void *source, void *target, size_t count);
} hocket_transport;

/* The layout of elements in memory, in bytes: see MPI_Type_get_extent and MPI_Type_get_true_extent. */
typedef struct hocket_layout {
    ptrdiff_t extent;
    ptrdiff_t true_lower_bound;
    size_t true_extent;
} hocket_layout;

/* The neighbours of a rank in a neighbourhood collective: one for each block that the rank sends or receives. */
typedef struct hocket_neighbors {
    int32_t sent, received;
    /* HOCKET_NO_RANK where a block has no neighbour (MPI_PROC_NULL). */
    const int32_t *destinations, *sources;
    /* 1 if they are the two neighbours along each dimension of a grid: blocks sent one way arrive from the other. */
    int is_cartesian;
    /* `dimensions` is 0 unless every rank knows that all have their neighbours at the same relative places of a grid:
     * its `sizes`, the last changing first from rank to rank; the `offsets`, one number per dimension. */
    int32_t dimensions;
    int is_periodic;
    const int32_t *sizes, *offsets;
} hocket_neighbors;
#define HOCKET_NO_RANK (-1)

/* A call. Every rank gives the same values, except as follows. `in_place` is 1 if the input of this rank lies in its
 * result (MPI_IN_PLACE). `count` is the count of MPI: elements of a block (allgather, alltoall, gather, scatter,
 * reduce_scatter) or of the vector. `counts`, if not NULL, has one count per rank. In alltoallv every rank gives the
 * counts of its own blocks: `counts` to each rank, `counts_from` from each. In gatherv and scatterv only the root gives
 * `counts`, and each other rank the `count` of its block. In neighbourhood collectives every rank gives `neighbors`,
 * and counts as in alltoallv; neighbor_allgather sends one `count` to all. */
typedef struct hocket_call {
    int32_t collective;
    /* 1 if the call is nonblocking or persistent: such calls have their own rules. */
    int is_nonblocking;
    int32_t root;
    int in_place;
    int commutative;
    size_t count;
    const size_t *counts;
    const size_t *counts_from;
    const hocket_neighbors *neighbors;
    /* 1 if all blocks of all neighbours have the same count and every rank knows it. */
    int is_uniform;
    size_t element_bytes;
    hocket_layout layout;
} hocket_call;

typedef struct hocket_communicator hocket_communicator;
typedef struct hocket_operation hocket_operation;

/* Replaces the rules of all communicators; `file` names them in errors. No operation may be running. All ranks set the
 * same rules between the same calls. Returns 0. On an error returns 1, writes a line to `error`, keeps the rules. */
int hocket_set_rules(const char *text, const char *file, char *error, size_t room);
/* Like hocket_set_rules, but adds rules: they are tried after the present ones. */
int hocket_add_rules(const char *text, const char *file, char *error, size_t room);
/* Returns 1 if a rule has an algorithm for some call of a collective, or with HOCKET_ANY of any collective. */
#define HOCKET_ANY (-1)
int hocket_has_rule(int32_t collective, int is_nonblocking);
/* The address of the rules, NULL before any are set. Each change of rules changes it; atomic. */
extern const void *hocket_rules;
/* A size in bytes: the rules leave every blocking call below it to the caller's own algorithm. The size is the size of
 * `count` elements, if all blocks are alike. 0 if a rule has an algorithm for nonblocking calls. */
uint64_t hocket_left_below(int32_t collective, int32_t ranks);

/* A communicator, as one of its ranks sees it. Free it when none of its operations is running. */
hocket_communicator *hocket_communicator_new(int32_t rank, int32_t ranks, const hocket_transport *transport);
/* Says, before the first call, which ranks share a node: ranks with the same number in `nodes`. */
void hocket_communicator_nodes(hocket_communicator *communicator, const int32_t *nodes);
void hocket_communicator_free(hocket_communicator *communicator);

/* Returns the algorithm for a call, or NULL and the reason in *reason, valid until the communicator's next call. */
hocket_operation *hocket_prepare(hocket_communicator *communicator, const hocket_call *call, const char **reason);
/* Starts an operation. The buffers belong to the operation until it is done. A done operation can be started again. */
void hocket_start(hocket_operation *operation, const void *input, void *result, void *user);

#define HOCKET_FAILED (-1)
#define HOCKET_WAITS 0
#define HOCKET_DONE 1
/* Advances an operation as far as possible. If `may_wait` is 1, waits for messages when nothing else can be done. On
 * HOCKET_FAILED, *code is the error code of the caller's function. Do not call hocket_finish then: messages may still
 * be under way. */
int hocket_advance(hocket_operation *operation, int may_wait, int *code);

/* Writes "COLLECTIVE ALGORITHM"; returns the length of the whole text. */
size_t hocket_algorithm(const hocket_operation *operation, char *text, size_t room);

/* Seconds for which the result of this rank has been complete; 0 if the program does not mark that moment. */
double hocket_complete_for_s(const hocket_operation *operation);

/* Returns a done operation to its communicator. */
void hocket_finish(hocket_communicator *communicator, hocket_operation *operation);

/* Dynamic multicast: a master sends to any subset of ranks. The receivers need not know of the message beforehand.
 *
 *     hocket_domain *domain = hocket_domain_new(rank, ranks, master, NULL, &transport, user, error, sizeof error);
 *     hocket_domain_send(domain, members, members_bytes, data, bytes, &id, &reason);       the master
 *     while (!hocket_domain_take(domain, &multicast))                                       a member
 *         hocket_domain_advance(domain, 1, &code);
 *     hocket_domain_release(domain, multicast.id);
 *
 * The elements of the transport are bytes, except in collectives over a group. Tags are below 32768. Nothing else may
 * send messages to these ranks by this transport. A member takes multicasts in the order in which the master sent them.
 * Every rank has to call hocket_domain_advance repeatedly: it forwards messages for others. The master has at most 256
 * multicasts under way, and at most 64 MiB if there are several. Others wait in its queue, where their data lie.
 */
typedef struct hocket_domain hocket_domain;

/* A multicast that was taken. Its pointers are valid until it is released. */
typedef struct hocket_multicast {
    uint64_t id; /* its number in the domain, from 1 on */
    const void *data;
    size_t bytes;
    int32_t rank; /* this rank's number among the members, from 0 on */
    int32_t size; /* members */
    const uint8_t *members; /* bit r mod 8 of byte r / 8 says whether rank r is one */
    const uint32_t *ranks; /* all members, ascending */
} hocket_multicast;

/* Creates this rank's part of a domain. `rules` is a text of rules, "measured" (as NULL), "simulated" or "paper". The
 * first fitting rule whose algorithm supports a call decides. On an error returns NULL and writes a line to `error`. */
hocket_domain *hocket_domain_new(int32_t rank, int32_t ranks, int32_t master, const char *rules,
                                 const hocket_transport *transport, void *user, char *error, size_t room);
void hocket_domain_free(hocket_domain *domain);

/* The master begins a multicast to the ranks of a bitmap of ceil(ranks / 8) bytes. The data must stay until they have
 * left. Returns 0, or 1 and one line in *reason, valid until the next call of the domain. Without members the id is 0
 * and the multicast is complete. */
int hocket_domain_send(hocket_domain *domain, const uint8_t *members, size_t members_bytes, const void *data,
                       size_t bytes, uint64_t *id, const char **reason);
/* Whether the data have left; whether every member has released the multicast; how many multicasts are incomplete. */
int hocket_domain_has_left(const hocket_domain *domain, uint64_t id);
int hocket_domain_is_complete(const hocket_domain *domain, uint64_t id);
size_t hocket_domain_incomplete(const hocket_domain *domain);
/* How many multicasts this rank has released but not acknowledged, since other members have not released them yet. */
size_t hocket_domain_unacknowledged(const hocket_domain *domain);

#define HOCKET_BAD_HEADER (-2)
#define HOCKET_TOO_MANY_TAGS (-3)
#define HOCKET_NO_MEMORY (-4)
/* Advances the domain. If no message has ended and `may_wait` is 1, waits for one. Returns 1 if one has ended, else 0.
 * HOCKET_FAILED is final: *code is the error of the transport or one of the codes above. */
int hocket_domain_advance(hocket_domain *domain, int may_wait, int *code);

/* Offers memory for the next multicast: if that fits, its data are received there. Returns 0 if there is an offer
 * already. Withdraw the offer once a multicast was taken. */
int hocket_domain_offer(hocket_domain *domain, void *into, size_t bytes);
void hocket_domain_withdraw(hocket_domain *domain);
/* Takes the next multicast. Returns 0 if none has arrived. */
int hocket_domain_take(hocket_domain *domain, hocket_multicast *multicast);
/* Releases a multicast. Returns 0 if this rank does not have it, or a collective is running over its group. */
int hocket_domain_release(hocket_domain *domain, uint64_t id);
/* Writes the name of the algorithm that distributed an unreleased multicast, or "inlined". Returns the length of the
 * whole name. */
size_t hocket_domain_distribution(const hocket_domain *domain, uint64_t id, char *text, size_t room);

/* Starts a collective over the group of a multicast that is taken and not released. `size` is the `size` of the
 * multicast; the root is a number among the members. A group runs one collective at a time. The transport gets `user`.
 * Returns 0, or 1 and one line in *reason. */
int hocket_domain_start(hocket_domain *domain, uint64_t id, int32_t size, const hocket_call *call, const void *input,
                        void *result, void *user, const char **reason);
/* The state of the collective, as hocket_advance returns it. hocket_domain_advance advances the collective. */
int hocket_domain_collective(hocket_domain *domain, uint64_t id, int *code);

/* A call of a collective in the log. */
typedef struct hocket_logged {
    const char *function;
    int32_t collective;
    int32_t ranks;
    /* 1 on the one rank that counts the call for all ranks. Every rank gives its own bytes and time. */
    int is_counted;
    /* The size as rules define it, if all ranks know it. */
    int has_size;
    size_t size_bytes;
    size_t bytes;
    /* Seconds; NaN if not measured. */
    double time_s;
} hocket_logged;

/* Counts a call that ran an algorithm, or that was left to MPI. */
void hocket_log_ran(const hocket_logged *call, const hocket_operation *operation);
void hocket_log_passed(const hocket_logged *call, const char *reason);
/* Writes a table of the calls of this process; returns the length of the whole text. */
size_t hocket_log_summary(char *text, size_t room);
/* Writes the log, a line of JSON per entry; returns the length of the whole text. */
size_t hocket_log_lines(char *text, size_t room);
/* Adds the lines of another process, also to the summary; returns 1 if a line is invalid. */
int hocket_log_merge(const char *lines);

/* A job. Unknown texts are NULL; `start` is a time in UTC. */
typedef struct hocket_job {
    const char *mpi, *program, *user, *host, *job, *rules, *start;
    double elapsed_s;
    int32_t ranks, nodes;
} hocket_job;
/* Writes the first line of a job's log, which precedes hocket_log_lines; returns its length. */
size_t hocket_log_job(const hocket_job *job, char *text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
