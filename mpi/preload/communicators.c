/* The MPI functions that create communicators. All ranks of the new communicator take part, so that it gets its private
 * communicator here if a rule names nonblocking calls. */
#include "arguments.h"
#include "shim/shim.h"

#if defined OPEN_MPI && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/* A function that creates a communicator. It runs `meeting` before (see shim_meet), and on success what follows `list`. */
#define MAKES(name, meeting, list, ...)                                                                                \
    int MPI_##name(PARAMETERS list)                                                                                    \
    {                                                                                                                  \
        meeting;                                                                                                       \
        int code = PMPI_##name(ARGUMENTS list);                                                                        \
        if (code == MPI_SUCCESS) {                                                                                     \
            shim_made(*newcomm);                                                                                       \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        return code;                                                                                                   \
    }

MAKES(Comm_dup, shim_meet(comm), (comm, newcomm))
MAKES(Comm_dup_with_info, shim_meet(comm), (comm, info, newcomm))
MAKES(Comm_create, shim_meet(comm), (comm, group, newcomm))
MAKES(Comm_create_group, shim_meet_group(comm, group), (comm, group, tag, newcomm))
MAKES(Comm_split, shim_meet(comm), (comm, INT(color), INT(key), newcomm))
MAKES(Comm_split_type, shim_meet(comm), (comm, INT(split_type), INT(key), info, newcomm))
MAKES(Intercomm_merge, , (comm, INT(high), newcomm))
MAKES(Cart_create, shim_meet(comm), (comm, INT(ndims), INTS(dims), INTS(periods), INT(reorder), newcomm))
MAKES(Cart_sub, shim_meet(comm), (comm, INTS(remain_dims), newcomm))
MAKES(Graph_create, shim_meet(comm), (comm, INT(nnodes), INTS(indices), INTS(edges), INT(reorder), newcomm))
MAKES(Dist_graph_create, shim_meet(comm), (DIST_GRAPH_CREATE), shim_made_on(comm, *newcomm))
MAKES(Dist_graph_create_adjacent, shim_meet(comm), (DIST_GRAPH_CREATE_ADJACENT), shim_made_on(comm, *newcomm))
#ifdef HAS_SESSIONS
#define ARGUMENT_stringtag (const char *, stringtag, )
#define ARGUMENT_errhandler (MPI_Errhandler, errhandler, )
MAKES(Comm_create_from_group, , (group, stringtag, info, errhandler, newcomm))
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI
/* Revokes the private communicator, too: calls that wait for other ranks then end with the error of MPI's own calls. */
int MPIX_Comm_revoke(MPI_Comm comm)
{
    MPI_Comm private_comm = shim_revoked(comm);
    if (private_comm != MPI_COMM_NULL)
        PMPIX_Comm_revoke(private_comm);
    return PMPIX_Comm_revoke(comm);
}
#endif
