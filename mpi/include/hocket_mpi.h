/* hocket_mpi.h: dynamic multicast among the ranks of an MPI program.
 *
 * One rank of a communicator, the master, sends to any subset of its ranks. These do not know before whether, from whom
 * or with whom they receive, and ranks outside take no part at all.
 *
 *     hocket_mcast_domain *domain;
 *     hocket_mcast_domain_create(comm, 0, NULL, &domain);                            every rank
 *     hocket_mcast_send(domain, members, bytes, buffer, count, MPI_DOUBLE, &id);     the master; it can go on at once
 *     hocket_mcast_recv(domain, buffer, room, MPI_DOUBLE, &status);                  a member
 *     hocket_mcast_domain_free(&domain);                                             every rank
 *
 * Order: each member receives the multicasts of a domain in the order in which the master sent them. Several of them,
 * with groups that overlap, are on their way at once and do not wait for each other.
 *
 * Progress: a rank forwards for others only while it is in a function of this header. Each of them that waits goes on
 * with all domains of the process. A rank that never calls one stops the groups that it is a member of, and one that waits
 * elsewhere holds up acknowledgements: see hocket_mcast_flush.
 *
 * Threads: under MPI_THREAD_MULTIPLE any thread may call any function but hocket_mcast_domain_create and _free.
 *
 * Every function returns MPI_SUCCESS, an error code of MPI, or one of HOCKET_ERR_ below; hocket_mcast_error then has
 * one line. Link with mcast.c and libhocket.
 */
#ifndef HOCKET_MPI_H
#define HOCKET_MPI_H

#include <mpi.h>

#include "hocket.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Refused: the line says why. */
#define HOCKET_ERR_ARGUMENT (-101)
/* The domain is broken: a message made no sense, or there was no memory. */
#define HOCKET_ERR_BROKEN (-102)

typedef struct hocket_mcast_domain hocket_mcast_domain;

/* A multicast that was received. */
typedef struct hocket_mcast_status {
    uint64_t id;
    MPI_Count count; /* elements that came, as of the data type of the receive */
    size_t bytes;
    int rank; /* this rank's number among the members, from 0 on */
    int size; /* members */
} hocket_mcast_status;

/* Every rank of `comm` gives the same master and rules: NULL or "measured", "simulated", "paper", or rules such as
 * "broadcast[size=64KiB..]: chain, segment=16KiB" (see hocket.h). */
int hocket_mcast_domain_create(MPI_Comm comm, int master, const char *rules, hocket_mcast_domain **domain);
/* Every rank. The master waits until all its multicasts are complete; those that nobody receives any more are lost. */
int hocket_mcast_domain_free(hocket_mcast_domain **domain);

/* What went wrong last in a call of this thread, in one line. */
const char *hocket_mcast_error(void);

/* What the MPI calls itself that this is compiled for. */
const char *hocket_mcast_library(void);

/* The master sends to the ranks of a bitmap: bit r mod 8 of byte r / 8 says whether rank r of the communicator is a
 * member; ceil(ranks / 8) bytes. It returns at once; the buffer must not change until it has left, see _wait. */
int hocket_mcast_send(hocket_mcast_domain *domain, const unsigned char *members, size_t members_bytes,
                      const void *buffer, MPI_Count count, MPI_Datatype type, uint64_t *id);

/* What the master can wait for: the buffer is its own again, or every member has received it (and released it). */
#define HOCKET_MCAST_LEFT 0
#define HOCKET_MCAST_COMPLETE 1
int hocket_mcast_wait(hocket_mcast_domain *domain, uint64_t id, int what);
int hocket_mcast_test(hocket_mcast_domain *domain, uint64_t id, int what, int *flag);

/* Receives the next multicast of the domain. If it is longer, the error is of class MPI_ERR_TRUNCATE, and it is lost to
 * this rank only. The status may be NULL. */
int hocket_mcast_recv(hocket_mcast_domain *domain, void *buffer, MPI_Count count, MPI_Datatype type,
                      hocket_mcast_status *status);

/* The next multicast, where it lies; _poll does not wait, and says in *flag whether there is one. It is this rank's until
 * it is released. Data of a type with gaps are packed: see MPI_Unpack. */
int hocket_mcast_take(hocket_mcast_domain *domain, hocket_multicast *multicast);
int hocket_mcast_poll(hocket_mcast_domain *domain, hocket_multicast *multicast, int *flag);
int hocket_mcast_release(hocket_mcast_domain *domain, uint64_t id);

/* Waits until this rank has nothing left to do for the multicasts that it has received and released: until their members
 * below it in the tree have done so, too. To be called before this rank waits by other means for a rank that waits until
 * a multicast is complete. */
int hocket_mcast_flush(hocket_mcast_domain *domain);

/* From now on every multicast of the domain is given to a function, which the functions of this header call when it has
 * come; it is released when the function returns. NULL ends that. The function may send, but not receive. */
typedef void hocket_mcast_function(hocket_mcast_domain *domain, const hocket_multicast *multicast, void *context);
int hocket_mcast_listen(hocket_mcast_domain *domain, hocket_mcast_function *function, void *context);

/* Goes on with all domains of the process, without waiting. */
int hocket_mcast_progress(void);

/* A collective over the group of a multicast that is taken and not released; all its members call it in the same order.
 * Counts and roots are those of MPI over a communicator of these members; the input may be MPI_IN_PLACE. A broadcast
 * has its buffer in `result`. */
int hocket_mcast_collective(hocket_mcast_domain *domain, const hocket_multicast *multicast, int collective,
                            const void *input, void *result, MPI_Count count, MPI_Datatype type, MPI_Op op, int root);

/* The same without waiting: buffers, type and operator must stay until the collective is over, for which _wait waits. One at a time
 * over a group; those over several groups go on at the same time. */
int hocket_mcast_collective_start(hocket_mcast_domain *domain, const hocket_multicast *multicast, int collective,
                                  const void *input, void *result, MPI_Count count, MPI_Datatype type, MPI_Op op,
                                  int root);
int hocket_mcast_collective_wait(hocket_mcast_domain *domain, uint64_t id);
int hocket_mcast_collective_test(hocket_mcast_domain *domain, uint64_t id, int *flag);

#ifdef __cplusplus
}
#endif

#endif
