/* Each rank prints its host, the number of ranks, and which node of how many it is on: nodes are ranks that can share
 * memory. All ranks sum up 1,024 doubles. With an argument, rank 1 kills itself first. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

enum { COUNT = 1024 };

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    static double ones[COUNT], sums[COUNT];
    int rank, ranks, length, local_rank, nodes;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(host, &length);
    if (argc > 1 && rank == 1)
        raise(SIGKILL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank);
    int is_first = local_rank == 0;
    MPI_Allreduce(&is_first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    MPI_Allreduce(ones, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf("%s: rank %d of %d, %d nodes, sum %.0f\n", host, rank, ranks, nodes, sums[COUNT - 1]);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
