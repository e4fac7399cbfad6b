/* Calls collectives, each with the bytes of its message: `tuning_calls allreduce 1024 bcast 8`.
 *
 * With -s rank 0 gives one byte less, with -l all other ranks do. MPICH then fails, and its error names the algorithm.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int call(const char *name, int bytes, int less, char *in, char *out, int *counts, int *places)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_BYTE;
    MPI_Op op = MPI_BOR;
    int ranks, mine = bytes - less;
    MPI_Comm_size(comm, &ranks);
    for (int rank = 0; rank < ranks; rank++) {
        counts[rank] = mine;
        places[rank] = rank * bytes;
    }
#define IS(word) (strcmp(name, word) == 0)
    if (IS("allgather")) return MPI_Allgather(in, mine, type, out, mine, type, comm);
    if (IS("allgatherv")) return MPI_Allgatherv(in, mine, type, out, counts, places, type, comm);
    if (IS("allreduce")) return MPI_Allreduce(in, out, mine, type, op, comm);
    if (IS("alltoall")) return MPI_Alltoall(in, mine, type, out, mine, type, comm);
    if (IS("alltoallv")) return MPI_Alltoallv(in, counts, places, type, out, counts, places, type, comm);
    if (IS("barrier")) return MPI_Barrier(comm);
    if (IS("bcast")) return MPI_Bcast(in, mine, type, 0, comm);
    if (IS("exscan")) return MPI_Exscan(in, out, mine, type, op, comm);
    if (IS("gather")) return MPI_Gather(in, mine, type, out, mine, type, 0, comm);
    if (IS("gatherv")) return MPI_Gatherv(in, mine, type, out, counts, places, type, 0, comm);
    if (IS("reduce")) return MPI_Reduce(in, out, mine, type, op, 0, comm);
    if (IS("scan")) return MPI_Scan(in, out, mine, type, op, comm);
    if (IS("scatter")) return MPI_Scatter(in, mine, type, out, mine, type, 0, comm);
    if (IS("scatterv")) return MPI_Scatterv(in, counts, places, type, out, mine, type, 0, comm);
    for (int rank = 0; rank < ranks; rank++)
        counts[rank] = mine / ranks; /* the bytes of reduce_scatter are the bytes of the whole vector */
    if (IS("reduce_scatter")) return MPI_Reduce_scatter(in, out, counts, type, op, comm);
    if (IS("reduce_scatter_block")) return MPI_Reduce_scatter_block(in, out, mine / ranks, type, op, comm);
    fprintf(stderr, "unknown function %s\n", name);
    return MPI_ERR_ARG;
}

int main(int argc, char **argv)
{
    int rank, ranks, is_wrong, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    is_wrong = argc > 1 && argv[1][0] == '-';
    for (int at = 1 + is_wrong; at + 1 < argc && !status; at += 2) {
        int bytes = atoi(argv[at + 1]);
        char *in = calloc(ranks, bytes + 1), *out = calloc(ranks, bytes + 1);
        int *counts = calloc(ranks, sizeof *counts), *places = calloc(ranks, sizeof *places);
        int is_short = is_wrong && (argv[1][1] == 's') == (rank == 0);
        int less = is_short ? (strncmp(argv[at], "reduce_scatter", 14) ? 1 : ranks) : 0;
        status = call(argv[at], bytes, less, in, out, counts, places);
        free(in), free(out), free(counts), free(places);
    }
    if (status) {
        char text[8 * MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(status, text, &length);
        printf("rank %d: %s\n", rank, text);
        fflush(stdout);
    }
    if (is_wrong) {
        usleep(200000); /* other ranks print meanwhile */
        _Exit(0);       /* some ranks may wait forever */
    }
    MPI_Finalize();
    return 0;
}
