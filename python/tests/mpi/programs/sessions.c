/* A communicator from a session. The program calls MPI_Init only with the argument "both". Prints "sessions: right", or
 * "sessions: none" if MPI has no sessions. */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
static int sums_are_right(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Request request;
    int rank, ranks, one = 1, sum = 0, other = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "sums", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Iallreduce(&one, &other, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    if (rank == 0)
        printf("sessions: %s\n", sum == ranks && other == ranks ? "right" : "wrong");
    return sum == ranks && other == ranks;
}
#else
static int sums_are_right(void)
{
    puts("sessions: none");
    return 1;
}
#endif

int main(int argc, char **argv)
{
    if (argc > 1)
        MPI_Init(&argc, &argv);
    int is_right = sums_are_right();
    if (argc > 1)
        MPI_Finalize();
    return !is_right;
}
