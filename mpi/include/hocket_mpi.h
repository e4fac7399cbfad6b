/* hocket_mpi.h: dynamic multicast among the ranks of an MPI program.
 *
 * One rank of a communicator, the master, sends to any subset of its ranks. The receivers need not know beforehand
 * whether, from whom or with whom they receive. Other ranks take no part.
 *
 *     hocket_mcast_domain *domain;
 *     hocket_mcast_domain_create(comm, 0, NULL, &domain);                            every rank
 *     hocket_mcast_send(domain, members, bytes, buffer, count, MPI_DOUBLE, &id);     the master; it returns at once
 *     hocket_mcast_recv(domain, buffer, room, MPI_DOUBLE, &status);                  a member
 *     hocket_mcast_domain_free(&domain);                                             every rank
 *
 * Order: each member receives the multicasts of a domain in the order in which the master sent them. Several
 * multicasts, also to overlapping groups, are under way at once and do not wait for each other.
 *
 * Progress: a rank forwards messages only while it is in a function of this header. Each function that waits advances
 * all domains of the process. A rank that never calls one stops its groups. A rank that waits elsewhere delays
 * acknowledgements: see hocket_mcast_flush.
 *
 * Threads: under MPI_THREAD_MULTIPLE any thread may call any function except hocket_mcast_domain_create and _free.
 *
 * Every function returns MPI_SUCCESS, an error code of MPI, or one of the codes HOCKET_ERR_ below. After an error,
 * hocket_mcast_error returns one line. Link with mcast.c and libhocket.
 */
#ifndef HOCKET_MPI_H
#define HOCKET_MPI_H

#include <mpi.h>

#include "hocket.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An argument is refused: hocket_mcast_error says why. */
#define HOCKET_ERR_ARGUMENT (-101)
/* The domain is broken: a message was invalid, or memory ran out. */
#define HOCKET_ERR_BROKEN (-102)

typedef struct hocket_mcast_domain hocket_mcast_domain;

/* A multicast that was received. */
typedef struct hocket_mcast_status {
    uint64_t id;
    MPI_Count count; /* elements received, in the data type of the receive */
    size_t bytes;
    int rank; /* this rank's number among the members, from 0 on */
    int size; /* members */
} hocket_mcast_status;

/* Every rank of `comm` gives the same master and rules: NULL or "measured", "simulated", "paper", or rules such as
 * "broadcast[size=64KiB..]: chain, segment=16KiB" (see hocket.h). */
int hocket_mcast_domain_create(MPI_Comm comm, int master, const char *rules, hocket_mcast_domain **domain);
/* Every rank calls this. The master waits until all its multicasts are complete. Unreceived multicasts are lost. */
int hocket_mcast_domain_free(hocket_mcast_domain **domain);

/* The last error of this thread, in one line. */
const char *hocket_mcast_error(void);

/* The library version string of the MPI that runs. */
const char *hocket_mcast_library(void);

/* The master sends to the ranks of a bitmap of ceil(ranks / 8) bytes: bit r mod 8 of byte r / 8 says whether rank r is
 * a member. The function returns at once. The buffer must not change until the data have left: see _wait. */
int hocket_mcast_send(hocket_mcast_domain *domain, const unsigned char *members, size_t members_bytes,
                      const void *buffer, MPI_Count count, MPI_Datatype type, uint64_t *id);

/* The master can wait until the buffer may be reused, or until every member has received and released the multicast. */
#define HOCKET_MCAST_LEFT 0
#define HOCKET_MCAST_COMPLETE 1
int hocket_mcast_wait(hocket_mcast_domain *domain, uint64_t id, int what);
int hocket_mcast_test(hocket_mcast_domain *domain, uint64_t id, int what, int *flag);

/* Receives the next multicast of the domain; `status` may be NULL. If it is longer than the buffer, the error has the
 * class MPI_ERR_TRUNCATE, and the multicast is lost for this rank only. */
int hocket_mcast_recv(hocket_mcast_domain *domain, void *buffer, MPI_Count count, MPI_Datatype type,
                      hocket_mcast_status *status);

/* Take the next multicast without a copy. _poll does not wait; *flag says whether there is one. It belongs to this rank
 * until it is released. Data of a type with gaps are packed: see MPI_Unpack. */
int hocket_mcast_take(hocket_mcast_domain *domain, hocket_multicast *multicast);
int hocket_mcast_poll(hocket_mcast_domain *domain, hocket_multicast *multicast, int *flag);
int hocket_mcast_release(hocket_mcast_domain *domain, uint64_t id);

/* Waits until this rank has acknowledged all multicasts that it has released, which needs the members below it in the
 * tree to release them, too. Call it before this rank waits by other means for a rank that waits until a multicast is
 * complete. */
int hocket_mcast_flush(hocket_mcast_domain *domain);

/* From now on the functions of this header give every arriving multicast of the domain to `function`, and release it
 * when `function` returns. NULL ends this. `function` may send, but must not receive. */
typedef void hocket_mcast_function(hocket_mcast_domain *domain, const hocket_multicast *multicast, void *context);
int hocket_mcast_listen(hocket_mcast_domain *domain, hocket_mcast_function *function, void *context);

/* Advances all domains of the process without waiting. */
int hocket_mcast_progress(void);

/* A collective over the group of a multicast that is taken and not released. All members call it in the same order.
 * Counts and roots are as in MPI over a communicator of these members. The input may be MPI_IN_PLACE. A broadcast has
 * its buffer in `result`. */
int hocket_mcast_collective(hocket_mcast_domain *domain, const hocket_multicast *multicast, int collective,
                            const void *input, void *result, MPI_Count count, MPI_Datatype type, MPI_Op op, int root);

/* The same without waiting. Buffers, type and operator must stay until _wait returns, or _test sets *flag. A group runs
 * one collective at a time; collectives over several groups run at once. */
int hocket_mcast_collective_start(hocket_mcast_domain *domain, const hocket_multicast *multicast, int collective,
                                  const void *input, void *result, MPI_Count count, MPI_Datatype type, MPI_Op op,
                                  int root);
int hocket_mcast_collective_wait(hocket_mcast_domain *domain, uint64_t id);
int hocket_mcast_collective_test(hocket_mcast_domain *domain, uint64_t id, int *flag);

#ifdef __cplusplus
}
#endif

#endif
