/* The MPI functions that create communicators. All ranks of the new communicator take part, so that it gets its private
 * communicator here if a rule names nonblocking calls. */
#include "shim/shim.h"

#if defined OPEN_MPI && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/* A function that creates a communicator. It runs `meeting` before (see shim_meet), and `what_follows` on success. */
#define MAKES_AND(name, what_follows, meeting, parameters, arguments)                                                  \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        meeting;                                                                                                       \
        int code = PMPI_##name arguments;                                                                              \
        if (code == MPI_SUCCESS) {                                                                                     \
            shim_made(*new_comm);                                                                                      \
            what_follows;                                                                                              \
        }                                                                                                              \
        return code;                                                                                                   \
    }
#define MAKES(name, ...) MAKES_AND(name, (void)0, __VA_ARGS__)

MAKES(Comm_dup, shim_meet(comm), (MPI_Comm comm, MPI_Comm *new_comm), (comm, new_comm))
MAKES(Comm_dup_with_info, shim_meet(comm), (MPI_Comm comm, MPI_Info info, MPI_Comm *new_comm), (comm, info, new_comm))
MAKES(Comm_create, shim_meet(comm), (MPI_Comm comm, MPI_Group group, MPI_Comm *new_comm), (comm, group, new_comm))
MAKES(Comm_create_group, shim_meet_group(comm, group), (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new_comm),
      (comm, group, tag, new_comm))
MAKES(Comm_split, shim_meet(comm), (MPI_Comm comm, int color, int key, MPI_Comm *new_comm),
      (comm, color, key, new_comm))
MAKES(Comm_split_type, shim_meet(comm), (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new_comm),
      (comm, type, key, info, new_comm))
MAKES(Intercomm_merge, (void)0, (MPI_Comm comm, int is_high, MPI_Comm *new_comm), (comm, is_high, new_comm))
MAKES(Cart_create, shim_meet(comm),
      (MPI_Comm comm, int dims, const int sizes[], const int periods[], int may_reorder, MPI_Comm *new_comm),
      (comm, dims, sizes, periods, may_reorder, new_comm))
MAKES(Cart_sub, shim_meet(comm), (MPI_Comm comm, const int stays[], MPI_Comm *new_comm), (comm, stays, new_comm))
MAKES(Graph_create, shim_meet(comm),
      (MPI_Comm comm, int nodes, const int index[], const int edges[], int may_reorder, MPI_Comm *new_comm),
      (comm, nodes, index, edges, may_reorder, new_comm))
MAKES_AND(Dist_graph_create, shim_made_on(comm, *new_comm), shim_meet(comm),
      (MPI_Comm comm, int count, const int sources[], const int degrees[], const int destinations[],
       const int weights[], MPI_Info info, int may_reorder, MPI_Comm *new_comm),
      (comm, count, sources, degrees, destinations, weights, info, may_reorder, new_comm))
MAKES_AND(Dist_graph_create_adjacent, shim_made_on(comm, *new_comm), shim_meet(comm),
      (MPI_Comm comm, int indegree, const int sources[], const int source_weights[], int outdegree,
       const int destinations[], const int destination_weights[], MPI_Info info, int may_reorder, MPI_Comm *new_comm),
      (comm, indegree, sources, source_weights, outdegree, destinations, destination_weights, info, may_reorder,
       new_comm))
#ifdef HAS_SESSIONS
MAKES(Comm_create_from_group, (void)0,
      (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *new_comm),
      (group, tag, info, handler, new_comm))
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
