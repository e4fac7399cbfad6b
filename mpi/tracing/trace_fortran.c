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

FORTRAN_BEGIN_AND_END()

FORTRAN_CALL(send, MPI_Send, (SEND))
FORTRAN_CALL(bsend, MPI_Bsend, (SEND))
FORTRAN_CALL(ssend, MPI_Ssend, (SEND))
FORTRAN_CALL(rsend, MPI_Rsend, (SEND))

#define STARTED(name, function, list)                                                                                  \
    FORTRAN(name, (FORTRAN_PARAMETERS list, MPI_Fint *request, MPI_Fint *error),                                       \
            MPI_Request c_request = MPI_REQUEST_NULL; int code = function(FROM_FORTRAN list, &c_request);              \
            set(error, with_request(code, c_request, request));)
STARTED(isend, MPI_Isend, (SEND))
STARTED(ibsend, MPI_Ibsend, (SEND))
STARTED(issend, MPI_Issend, (SEND))
STARTED(irsend, MPI_Irsend, (SEND))
STARTED(irecv, MPI_Irecv, (RECV))

#define RECEIVES(name, function, list)                                                                                 \
    FORTRAN(name, (FORTRAN_PARAMETERS list, MPI_Fint *status, MPI_Fint *error),                                        \
            MPI_Status seen; int code = function(FROM_FORTRAN list, &seen);                                            \
            set(error, with_status(code, &seen, status));)
RECEIVES(recv, MPI_Recv, (RECV))
RECEIVES(sendrecv, MPI_Sendrecv, (SENDRECV))

FORTRAN(wait, (MPI_Fint *request, MPI_Fint *status, MPI_Fint *error),
    MPI_Status seen;
    MPI_Request c_request = PMPI_Request_f2c(*request);
    int code = MPI_Wait(&c_request, &seen);
    *request = PMPI_Request_c2f(c_request);
    set(error, with_status(code, &seen, status));)

FORTRAN(test, (MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *error),
    MPI_Status seen;
    MPI_Request c_request = PMPI_Request_f2c(*request);
    int is_done = 0;
    int code = MPI_Test(&c_request, &is_done, &seen);
    *flag = is_done;
    *request = PMPI_Request_c2f(c_request);
    set(error, is_done ? with_status(code, &seen, status) : code);)

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

FORTRAN(waitall, (MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *error),
        set(error, wait_all(*count, requests, statuses));)

FORTRAN_COLLECTIVES

#define NEW_COMM(name, function, list)                                                                                 \
    FORTRAN(name, (FORTRAN_PARAMETERS list, MPI_Fint *new_comm, MPI_Fint *error),                                      \
            MPI_Comm c_comm = MPI_COMM_NULL; int code = function(FROM_FORTRAN list, &c_comm);                          \
            set(error, with_comm(code, c_comm, new_comm));)
NEW_COMM(comm_dup, MPI_Comm_dup, (comm))
NEW_COMM(comm_split, MPI_Comm_split, (comm, INT(color), INT(key)))

FORTRAN(comm_free, (MPI_Fint *comm, MPI_Fint *error),
    MPI_Comm c_comm = PMPI_Comm_f2c(*comm);
    int code = MPI_Comm_free(&c_comm);
    set(error, with_comm(code, c_comm, comm));)

#endif
