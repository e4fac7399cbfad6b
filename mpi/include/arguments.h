/* The arguments of MPI functions, by their names in the MPI standard. PARAMETERS(buf, count) declares a list of them,
 * ARGUMENTS(buf, count) passes it on. */
#ifndef HOCKET_ARGUMENTS_H
#define HOCKET_ARGUMENTS_H

#include <mpi.h>

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#endif

/* The type in C, the name, and the conversion from the argument of a Fortran function (fortran.h). COUNT and PLACE are
 * int, or MPI_Count and MPI_Aint in functions with large counts. */
#define ARGUMENT_buf (const void *, buf, to_address)
#define ARGUMENT_buffer (void *, buffer, to_address)
#define ARGUMENT_sendbuf (const void *, sendbuf, to_address)
#define ARGUMENT_recvbuf (void *, recvbuf, to_address)
#define ARGUMENT_count (COUNT, count, to_int)
#define ARGUMENT_sendcount (COUNT, sendcount, to_int)
#define ARGUMENT_recvcount (COUNT, recvcount, to_int)
#define ARGUMENT_sendcounts (const COUNT *, sendcounts, to_ints)
#define ARGUMENT_recvcounts (const COUNT *, recvcounts, to_ints)
#define ARGUMENT_displs (const PLACE *, displs, to_ints)
#define ARGUMENT_sdispls (const PLACE *, sdispls, to_ints)
#define ARGUMENT_rdispls (const PLACE *, rdispls, to_ints)
#define ARGUMENT_datatype (MPI_Datatype, datatype, to_type)
#define ARGUMENT_sendtype (MPI_Datatype, sendtype, to_type)
#define ARGUMENT_recvtype (MPI_Datatype, recvtype, to_type)
#define ARGUMENT_sendtypes (const MPI_Datatype *, sendtypes, )
#define ARGUMENT_recvtypes (const MPI_Datatype *, recvtypes, )
#define ARGUMENT_op (MPI_Op, op, to_op)
#define ARGUMENT_root (int, root, to_int)
#define ARGUMENT_dest (int, dest, to_int)
#define ARGUMENT_source (int, source, to_int)
#define ARGUMENT_tag (int, tag, to_int)
#define ARGUMENT_sendtag (int, sendtag, to_int)
#define ARGUMENT_recvtag (int, recvtag, to_int)
#define ARGUMENT_comm (MPI_Comm, comm, to_comm)
#define ARGUMENT_peer_comm (MPI_Comm, peer_comm, )
#define ARGUMENT_freed (MPI_Comm *, freed, )
#define ARGUMENT_newcomm (MPI_Comm *, newcomm, )
#define ARGUMENT_info (MPI_Info, info, )
#define ARGUMENT_group (MPI_Group, group, )
#define ARGUMENT_message (MPI_Message *, message, )
#define ARGUMENT_request (MPI_Request *, request, )
#define ARGUMENT_status (MPI_Status *, status, )
#define ARGUMENT_flag (int *, flag, )
#define ARGUMENT_outcount (int *, outcount, )
#define ARGUMENT_index (int *, index, )
/* Other arguments, such as INT(color). */
#define ARGUMENT_INT(name) (int, name, to_int)
#define ARGUMENT_INTS(name) (const int *, name, to_ints)
#define ARGUMENT_ADDRESSES(name) (const MPI_Aint *, name, )

/* Lists of arguments. */
#define SEND buf, count, datatype, dest, tag, comm
#define RECV buffer, count, datatype, source, tag, comm
#define SENDRECV sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm
#define SENDRECV_REPLACE buffer, count, datatype, dest, sendtag, source, recvtag, comm
#define BCAST buffer, count, datatype, root, comm
#define ALLREDUCE sendbuf, recvbuf, count, datatype, op, comm
#define REDUCE sendbuf, recvbuf, count, datatype, op, root, comm
#define REDUCE_SCATTER sendbuf, recvbuf, recvcounts, datatype, op, comm
#define ALLGATHER sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define GATHER sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm
#define ALLGATHERV sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm
#define GATHERV sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm
#define SCATTERV sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm
#define ALLTOALLV sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
#define ALLTOALLW sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm
#define DIST_GRAPH_CREATE                                                                                              \
    comm, INT(n), INTS(sources), INTS(degrees), INTS(destinations), INTS(weights), info, INT(reorder), newcomm
#define DIST_GRAPH_CREATE_ADJACENT                                                                                     \
    comm, INT(indegree), INTS(sources), INTS(sourceweights), INT(outdegree), INTS(destinations), INTS(destweights),    \
        info, INT(reorder), newcomm

#define PARAMETERS(...) EACH(DECLARED, __VA_ARGS__)
#define ARGUMENTS(...) EACH(PASSED, __VA_ARGS__)
#define DECLARED(argument) EXPANDED(DECLARATION ARGUMENT_##argument)
#define PASSED(argument) EXPANDED(NAME ARGUMENT_##argument)
#define DECLARATION(type, name, conversion) type name
#define NAME(type, name, conversion) name
#define EXPANDED(...) __VA_ARGS__
/* `(UNPACKED list, request)` is a list in parentheses with one more argument. */
#define UNPACKED(...) __VA_ARGS__

#define EACH(macro, ...)                                                                                               \
    PICK(__VA_ARGS__, EACH12, EACH11, EACH10, EACH9, EACH8, EACH7, EACH6, EACH5, EACH4, EACH3, EACH2, EACH1, )         \
    (macro, __VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, i, j, k, l, each, ...) each
#define EACH1(macro, argument) macro(argument)
#define EACH2(macro, argument, ...) macro(argument), EACH1(macro, __VA_ARGS__)
#define EACH3(macro, argument, ...) macro(argument), EACH2(macro, __VA_ARGS__)
#define EACH4(macro, argument, ...) macro(argument), EACH3(macro, __VA_ARGS__)
#define EACH5(macro, argument, ...) macro(argument), EACH4(macro, __VA_ARGS__)
#define EACH6(macro, argument, ...) macro(argument), EACH5(macro, __VA_ARGS__)
#define EACH7(macro, argument, ...) macro(argument), EACH6(macro, __VA_ARGS__)
#define EACH8(macro, argument, ...) macro(argument), EACH7(macro, __VA_ARGS__)
#define EACH9(macro, argument, ...) macro(argument), EACH8(macro, __VA_ARGS__)
#define EACH10(macro, argument, ...) macro(argument), EACH9(macro, __VA_ARGS__)
#define EACH11(macro, argument, ...) macro(argument), EACH10(macro, __VA_ARGS__)
#define EACH12(macro, argument, ...) macro(argument), EACH11(macro, __VA_ARGS__)

#endif
