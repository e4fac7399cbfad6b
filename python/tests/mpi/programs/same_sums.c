/* Counts the different bits of one sum over all elements, sizes and forms of MPI_Allreduce, and of MPI_Reduce to each of
 * two roots: each rank contributes one number, again and again. Prints "same sums: allreduce A, reduce R". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300000, KINDS = 64 };

/* The different bits found so far. */
struct found {
    double sums[KINDS];
    int count;
};

static void note(struct found *found, const double *sums, int count)
{
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < found->count && memcmp(&found->sums[at], &sums[i], sizeof *sums))
            at++;
        if (at == found->count && at < KINDS)
            found->sums[found->count++] = sums[i];
    }
}

/* The bits of all ranks. */
static int everywhere(struct found *found)
{
    static double all[KINDS * 1024];
    int counts[1024], places[1024], ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Allgather(&found->count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0, place = 0; rank < ranks; place += counts[rank++])
        places[rank] = place;
    PMPI_Allgatherv(found->sums, found->count, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    note(found, all, places[ranks - 1] + counts[ranks - 1]);
    return found->count;
}

int main(int argc, char **argv)
{
    static double own[MOST], sums[MOST];
    static struct found all, of_roots[2];
    int rank, ranks, counts[] = {1, 2, 3, 7, 64, 1000, 4097, 40000, MOST};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    srand48(rank + 1);
    own[0] = (drand48() - 0.5) * (double)(1ull << (7 * rank % 50));
    for (int i = 1; i < MOST; i++)
        own[i] = own[0];
    for (int c = 0; c < (int)(sizeof counts / sizeof *counts); c++) {
        int count = counts[c];
        MPI_Request request;
        MPI_Allreduce(own, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        note(&all, sums, count);
        memcpy(sums, own, count * sizeof *sums);
        MPI_Allreduce(MPI_IN_PLACE, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        note(&all, sums, count);
        MPI_Iallreduce(own, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        note(&all, sums, count);
#if MPI_VERSION >= 4
        MPI_Allreduce_init(own, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int start = 0; start < 2; start++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            note(&all, sums, count);
        }
        MPI_Request_free(&request);
#endif
        for (int last = 0; last < 2; last++) {
            int root = last * (ranks - 1);
            MPI_Reduce(own, sums, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
            if (rank == root)
                note(&of_roots[last], sums, count);
        }
    }
    int alike = everywhere(&all), first = everywhere(&of_roots[0]), second = everywhere(&of_roots[1]);
    if (rank == 0)
        printf("same sums: allreduce %d, reduce %d\n", alike, first > second ? first : second);
    MPI_Finalize();
    return 0;
}
