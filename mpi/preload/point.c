/* The MPI functions of the beginning, the end and messages. They advance the nonblocking collectives under way, which
 * advance only in these functions, in the functions of requests.c and in collectives. */
#define _GNU_SOURCE
#include "arguments.h"
#include "shim/shim.h"

#include <stdlib.h>

#include "library.h"
#include "wait.h"

DEFINE_INIT(shim_be_present(), shim_begin())

int MPI_Finalize(void)
{
    shim_end();
    return PMPI_Finalize();
}

#ifdef HAS_SESSIONS
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    check_library();
    int code = PMPI_Session_init(info, handler, session);
    if (code == MPI_SUCCESS)
        shim_begin_session(*session);
    return code;
}

int MPI_Session_finalize(MPI_Session *session)
{
    shim_end_session();
    return PMPI_Session_finalize(session);
}
#endif

int MPI_Comm_free(MPI_Comm *comm)
{
    shim_settle(*comm);
    return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    shim_settle(*comm);
    return PMPI_Comm_disconnect(comm);
}

int MPI_Op_free(MPI_Op *op)
{
    return shim_free_op(op);
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    WAIT(PMPI_Probe(source, tag, comm, status), PMPI_Iprobe(source, tag, comm, &flag, status));
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    shim_progress();
    return PMPI_Iprobe(source, tag, comm, flag, status);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    shim_progress();
    return PMPI_Improbe(source, tag, comm, flag, message, status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    WAIT(PMPI_Mprobe(source, tag, comm, message, status), PMPI_Improbe(source, tag, comm, &flag, message, status));
}

/* Makes a blocking call in its nonblocking form and waits for its request, if a nonblocking collective may be under
 * way. A call with MPI_PROC_NULL does not wait. */
#define BY_REQUEST(peer, direct, start, status)                                                                        \
    do {                                                                                                               \
        if ((peer) == MPI_PROC_NULL || !shim_polls())                                                                  \
            return direct;                                                                                             \
        MPI_Request request;                                                                                           \
        int code = start;                                                                                              \
        return code == MPI_SUCCESS ? shim_wait(&request, status) : code;                                               \
    } while (0)

static int wait_for_both(MPI_Request requests[2], MPI_Status *status)
{
    int code = shim_wait(&requests[0], status);
    int other = shim_wait(&requests[1], MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? other : code;
}

#define BLOCKING_SEND(name, started, large)                                                                            \
    int MPI_##name##large(PARAMETERS(SEND))                                                                            \
    {                                                                                                                  \
        BY_REQUEST(dest, PMPI_##name##large(SEND), PMPI_##started##large(SEND, &request), MPI_STATUS_IGNORE);          \
    }
#define POINT_TO_POINT(large)                                                                                          \
    BLOCKING_SEND(Send, Isend, large)                                                                                  \
    BLOCKING_SEND(Ssend, Issend, large)                                                                                \
    BLOCKING_SEND(Rsend, Irsend, large)                                                                                \
    int MPI_Recv##large(PARAMETERS(RECV, status))                                                                      \
    {                                                                                                                  \
        BY_REQUEST(source, PMPI_Recv##large(RECV, status), PMPI_Irecv##large(RECV, &request), status);                 \
    }                                                                                                                  \
    int MPI_Mrecv##large(PARAMETERS(buffer, count, datatype, message, status))                                         \
    {                                                                                                                  \
        BY_REQUEST(MPI_ANY_SOURCE, PMPI_Mrecv##large(buffer, count, datatype, message, status),                        \
                   PMPI_Imrecv##large(buffer, count, datatype, message, &request), status);                            \
    }                                                                                                                  \
    int MPI_Sendrecv##large(PARAMETERS(SENDRECV, status))                                                              \
    {                                                                                                                  \
        if (!shim_polls())                                                                                             \
            return PMPI_Sendrecv##large(SENDRECV, status);                                                             \
        MPI_Request requests[2];                                                                                       \
        int code = PMPI_Irecv##large(recvbuf, recvcount, recvtype, source, recvtag, comm, &requests[0]);               \
        if (code == MPI_SUCCESS)                                                                                       \
            code = PMPI_Isend##large(sendbuf, sendcount, sendtype, dest, sendtag, comm, &requests[1]);                 \
        return code == MPI_SUCCESS ? wait_for_both(requests, status) : code;                                           \
    }                                                                                                                  \
    int MPI_Sendrecv_replace##large(PARAMETERS(SENDRECV_REPLACE, status))                                              \
    {                                                                                                                  \
        if (!shim_polls())                                                                                             \
            return PMPI_Sendrecv_replace##large(SENDRECV_REPLACE, status);                                             \
        COUNT room = 0, length = 0;                                                                                    \
        int code = PMPI_Pack_size##large(count, datatype, comm, &room);                                                \
        void *packed = code == MPI_SUCCESS ? shim_room((size_t)room) : NULL;                                           \
        if (code == MPI_SUCCESS)                                                                                       \
            code = PMPI_Pack##large(buffer, count, datatype, packed, room, &length, comm);                             \
        MPI_Request requests[2];                                                                                       \
        if (code == MPI_SUCCESS)                                                                                       \
            code = PMPI_Irecv##large(buffer, count, datatype, source, recvtag, comm, &requests[0]);                    \
        if (code == MPI_SUCCESS)                                                                                       \
            code = PMPI_Isend##large(packed, length, MPI_PACKED, dest, sendtag, comm, &requests[1]);                   \
        if (code == MPI_SUCCESS)                                                                                       \
            code = wait_for_both(requests, status);                                                                    \
        free(packed);                                                                                                  \
        return code;                                                                                                   \
    }

#define COUNT int
POINT_TO_POINT()
#ifdef HAS_LARGE_COUNTS
#undef COUNT
#define COUNT MPI_Count
POINT_TO_POINT(_c)
#endif
