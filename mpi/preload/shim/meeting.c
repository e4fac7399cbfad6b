/* Waits for other ranks while nonblocking calls go on. */
#include "started_calls.h"

void shim_meet(MPI_Comm comm)
{
    MPI_Request request;
    if (shim_may_be_active(comm) && PMPI_Ibarrier(comm, &request) == MPI_SUCCESS)
        shim_wait(&request, MPI_STATUS_IGNORE);
}

/* The blocking call of a communicator that gets the memory of the node, which costs as much as some fifty short calls
 * save. All ranks count alike. */
enum { CALL_WITH_MEMORY = 32 };

int has_private_for(struct operation *operation)
{
    struct communicator *state = operation->comm;
    MPI_Comm comm = operation->call->comm;
    if (state->private_comm == MPI_COMM_NULL) {
        shim_meet(comm);
        if (!has_private(comm, state))
            return leave(operation);
    }
    if (operation->call->form == BLOCKING && state->calls_before_memory < CALL_WITH_MEMORY &&
        ++state->calls_before_memory == CALL_WITH_MEMORY) {
        shim_meet(comm);
        state->memory = new_node_memory(state->private_comm, state->nodes, other_tag());
    }
    return 1;
}

void shim_meet_group(MPI_Comm comm, MPI_Group group)
{
    struct communicator *state = shim_may_be_active(comm) ? state_of(comm) : NULL;
    MPI_Group all;
    int rank, ranks, tag = other_tag();
    if (!state || state->private_comm == MPI_COMM_NULL || group == MPI_GROUP_NULL)
        return;
    PMPI_Group_rank(group, &rank);
    PMPI_Group_size(group, &ranks);
    PMPI_Comm_group(comm, &all);
    for (int distance = 1; rank != MPI_UNDEFINED && distance < ranks; distance *= 2) {
        int peers[2], ends[2] = {(rank + distance) % ranks, (rank - distance + ranks) % ranks};
        MPI_Request requests[2];
        PMPI_Group_translate_ranks(group, 2, ends, all, peers);
        PMPI_Isend(NULL, 0, MPI_BYTE, peers[0], tag, state->private_comm, &requests[0]);
        PMPI_Irecv(NULL, 0, MPI_BYTE, peers[1], tag, state->private_comm, &requests[1]);
        shim_wait(&requests[0], MPI_STATUS_IGNORE);
        shim_wait(&requests[1], MPI_STATUS_IGNORE);
    }
    PMPI_Group_free(&all);
}
