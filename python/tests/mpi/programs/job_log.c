/* Calls with known counts. On the world: 10 allreduces of 8 B, one of 64 B, a broadcast of 100 B, an alltoallv of rank
 * + 1 bytes to each rank, 2 nonblocking allreduces. On each half: 3 allreduces of 8 B. With "quiet": no call. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
    int rank, ranks;
    double one = 1, sum, ones[8] = {1}, sums[8];
    char bytes[100] = {0};
    MPI_Comm half;
    MPI_Request request;
    MPI_Init(&count, &arguments);
    if (count > 1 && strcmp(arguments[1], "quiet") == 0)
        return MPI_Finalize();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(ones, sums, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(bytes, sizeof bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
    int *sent = malloc(4 * sizeof(int) * (size_t)ranks), *to = sent + ranks, *received = to + ranks,
        *from = received + ranks, all = ranks * (ranks + 1) / 2;
    for (int i = 0; i < ranks; i++) {
        sent[i] = rank + 1;
        to[i] = i * (rank + 1);
        received[i] = i + 1;
        from[i] = i * (i + 1) / 2;
    }
    char *out = calloc(1, (size_t)(ranks * (rank + 1))), *in = calloc(1, (size_t)all);
    MPI_Alltoallv(out, sent, to, MPI_CHAR, in, received, from, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(sent);
    free(out);
    free(in);
    MPI_Comm_free(&half);
    return MPI_Finalize();
}
