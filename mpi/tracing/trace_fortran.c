/* Functions that Fortran programs call under Open MPI, whose Fortran interface calls PMPI_* and so bypasses the C
 * functions: the common ones for messages, waits, collectives and communicators. MPICH's interface for mpif.h and the
 * module mpi calls the C functions. */
#include "trace.h"

#ifdef OPEN_MPI

#include "fortran.h"

#include <stdlib.h>

static int is_ignored(const MPI_Fint *status)
{
#if OMPI_MAJOR_VERSION >= 5
    if (status == MPI_F08_STATUS_IGNORE || status == MPI_F08_STATUSES_IGNORE)
        return 1;
#endif
    return status == MPI_F_STATUS_IGNORE || status == MPI_F_STATUSES_IGNORE;
}

static int with_status(int code, const MPI_Status *status, MPI_Fint *into)
{
    if (code == MPI_SUCCESS && !is_ignored(into))
        PMPI_Status_c2f(status, into);
    return code;
}

static int with_request(int code, MPI_Request request, MPI_Fint *into)
{
    if (code == MPI_SUCCESS)
        *into = PMPI_Request_c2f(request);
    return code;
}

static int with_comm(int code, MPI_Comm comm, MPI_Fint *into)
{
    if (code == MPI_SUCCESS)
        *into = PMPI_Comm_c2f(comm);
    return code;
}

/* mpi_<name>_ for mpif.h and the module mpi, mpi_<name>_f08_ for the module mpi_f08. */
#define FORTRAN(name, parameters, body)                                                                                \
    void mpi_##name##_ parameters;                                                                                     \
    void mpi_##name##_ parameters body                                                                                 \
    void mpi_##name##_f08_ parameters;                                                                                 \
    void mpi_##name##_f08_ parameters body
#define CALL(name, parameters, call) FORTRAN(name, parameters, { set(error, call); })

#define COMM PMPI_Comm_f2c(*comm)
#define TYPE(type) PMPI_Type_f2c(*type)
#define OP PMPI_Op_f2c(*op)

CALL(init, (MPI_Fint * error), MPI_Init(NULL, NULL))
CALL(init_thread, (MPI_Fint * required, MPI_Fint *provided, MPI_Fint *error), MPI_Init_thread(NULL, NULL, *required, provided))
CALL(finalize, (MPI_Fint * error), MPI_Finalize())

#define SEND(name, function)                                                                                           \
    CALL(name, (void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *error), \
         function(address(data), *count, TYPE(type), *to, *tag, COMM))
#define STARTED(name, function)                                                                                        \
    FORTRAN(name,                                                                                                      \
            (void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *peer, MPI_Fint *tag, MPI_Fint *comm,               \
             MPI_Fint *request, MPI_Fint *error),                                                                      \
            {                                                                                                          \
                MPI_Request c_request = MPI_REQUEST_NULL;                                                              \
                int code = function(address(data), *count, TYPE(type), *peer, *tag, COMM, &c_request);                 \
                set(error, with_request(code, c_request, request));                                                    \
            })

SEND(send, MPI_Send)
SEND(bsend, MPI_Bsend)
SEND(ssend, MPI_Ssend)
SEND(rsend, MPI_Rsend)
STARTED(isend, MPI_Isend)
STARTED(ibsend, MPI_Ibsend)
STARTED(issend, MPI_Issend)
STARTED(irsend, MPI_Irsend)
STARTED(irecv, MPI_Irecv)

FORTRAN(recv,
        (void *into, MPI_Fint *count, MPI_Fint *type, MPI_Fint *from, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *status,
         MPI_Fint *error),
        {
            MPI_Status seen;
            int code = MPI_Recv(address(into), *count, TYPE(type), *from, *tag, COMM, &seen);
            set(error, with_status(code, &seen, status));
        })

FORTRAN(sendrecv,
        (void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag, void *into, MPI_Fint *room,
         MPI_Fint *recv_type, MPI_Fint *from, MPI_Fint *recv_tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error),
        {
            MPI_Status seen;
            int code = MPI_Sendrecv(address(data), *count, TYPE(type), *to, *tag, address(into), *room, TYPE(recv_type),
                                    *from, *recv_tag, COMM, &seen);
            set(error, with_status(code, &seen, status));
        })

FORTRAN(wait, (MPI_Fint * request, MPI_Fint *status, MPI_Fint *error), {
    MPI_Status seen;
    MPI_Request c_request = PMPI_Request_f2c(*request);
    int code = MPI_Wait(&c_request, &seen);
    *request = PMPI_Request_c2f(c_request);
    set(error, with_status(code, &seen, status));
})

FORTRAN(test, (MPI_Fint * request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *error), {
    MPI_Status seen;
    MPI_Request c_request = PMPI_Request_f2c(*request);
    int is_done = 0;
    int code = MPI_Test(&c_request, &is_done, &seen);
    *flag = is_done;
    *request = PMPI_Request_c2f(c_request);
    set(error, is_done ? with_status(code, &seen, status) : code);
})

static int wait_all(int count, MPI_Fint *requests, MPI_Fint *statuses)
{
    size_t room = (size_t)(count > 0 ? count : 1);
    MPI_Request *c_request = malloc(room * sizeof *c_request);
    MPI_Status *seen = malloc(room * sizeof *seen);
    int code = MPI_ERR_NO_MEM;
    if (c_request && seen) {
        for (int i = 0; i < count; i++)
            c_request[i] = PMPI_Request_f2c(requests[i]);
        code = MPI_Waitall(count, c_request, seen);
        for (int i = 0; i < count; i++) {
            requests[i] = PMPI_Request_c2f(c_request[i]);
            if ((code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) && !is_ignored(statuses))
                PMPI_Status_c2f(&seen[i], statuses + (size_t)i * sizeof(MPI_Status) / sizeof(MPI_Fint));
        }
    }
    free(c_request);
    free(seen);
    return code;
}

CALL(waitall, (MPI_Fint * count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *error),
     wait_all(*count, requests, statuses))

#define REDUCTION (void *sent, void *into, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *comm, MPI_Fint *error)
#define BLOCKS                                                                                                         \
    (void *sent, MPI_Fint *count, MPI_Fint *type, void *into, MPI_Fint *room, MPI_Fint *recv_type, MPI_Fint *comm,     \
     MPI_Fint *error)
#define ROOTED                                                                                                         \
    (void *sent, MPI_Fint *count, MPI_Fint *type, void *into, MPI_Fint *room, MPI_Fint *recv_type, MPI_Fint *root,     \
     MPI_Fint *comm, MPI_Fint *error)

CALL(barrier, (MPI_Fint * comm, MPI_Fint *error), MPI_Barrier(COMM))
CALL(bcast, (void *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error),
     MPI_Bcast(address(data), *count, TYPE(type), *root, COMM))
CALL(allreduce, REDUCTION, MPI_Allreduce(address(sent), address(into), *count, TYPE(type), OP, COMM))
CALL(scan, REDUCTION, MPI_Scan(address(sent), address(into), *count, TYPE(type), OP, COMM))
CALL(exscan, REDUCTION, MPI_Exscan(address(sent), address(into), *count, TYPE(type), OP, COMM))
CALL(reduce_scatter_block, REDUCTION, MPI_Reduce_scatter_block(address(sent), address(into), *count, TYPE(type), OP, COMM))
CALL(reduce_scatter, REDUCTION, MPI_Reduce_scatter(address(sent), address(into), count, TYPE(type), OP, COMM))
CALL(reduce,
     (void *sent, void *into, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *root, MPI_Fint *comm,
      MPI_Fint *error),
     MPI_Reduce(address(sent), address(into), *count, TYPE(type), OP, *root, COMM))
CALL(allgather, BLOCKS, MPI_Allgather(address(sent), *count, TYPE(type), address(into), *room, TYPE(recv_type), COMM))
CALL(alltoall, BLOCKS, MPI_Alltoall(address(sent), *count, TYPE(type), address(into), *room, TYPE(recv_type), COMM))
CALL(gather, ROOTED, MPI_Gather(address(sent), *count, TYPE(type), address(into), *room, TYPE(recv_type), *root, COMM))
CALL(scatter, ROOTED, MPI_Scatter(address(sent), *count, TYPE(type), address(into), *room, TYPE(recv_type), *root, COMM))
CALL(allgatherv,
     (void *sent, MPI_Fint *count, MPI_Fint *type, void *into, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *recv_type,
      MPI_Fint *comm, MPI_Fint *error),
     MPI_Allgatherv(address(sent), *count, TYPE(type), address(into), counts, places, TYPE(recv_type), COMM))
CALL(gatherv,
     (void *sent, MPI_Fint *count, MPI_Fint *type, void *into, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *recv_type,
      MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error),
     MPI_Gatherv(address(sent), *count, TYPE(type), address(into), counts, places, TYPE(recv_type), *root, COMM))
CALL(scatterv,
     (void *sent, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *type, void *into, MPI_Fint *room, MPI_Fint *recv_type,
      MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error),
     MPI_Scatterv(address(sent), counts, places, TYPE(type), address(into), *room, TYPE(recv_type), *root, COMM))
CALL(alltoallv,
     (void *sent, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *type, void *into, MPI_Fint *recv_counts,
      MPI_Fint *recv_places, MPI_Fint *recv_type, MPI_Fint *comm, MPI_Fint *error),
     MPI_Alltoallv(address(sent), counts, places, TYPE(type), address(into), recv_counts, recv_places, TYPE(recv_type),
                   COMM))

FORTRAN(comm_dup, (MPI_Fint * comm, MPI_Fint *new_comm, MPI_Fint *error), {
    MPI_Comm c_comm = MPI_COMM_NULL;
    int code = MPI_Comm_dup(COMM, &c_comm);
    set(error, with_comm(code, c_comm, new_comm));
})

FORTRAN(comm_split, (MPI_Fint * comm, MPI_Fint *color, MPI_Fint *key, MPI_Fint *new_comm, MPI_Fint *error), {
    MPI_Comm c_comm = MPI_COMM_NULL;
    int code = MPI_Comm_split(COMM, *color, *key, &c_comm);
    set(error, with_comm(code, c_comm, new_comm));
})

FORTRAN(comm_free, (MPI_Fint * comm, MPI_Fint *error), {
    MPI_Comm c_comm = COMM;
    int code = MPI_Comm_free(&c_comm);
    set(error, with_comm(code, c_comm, comm));
})

#endif
