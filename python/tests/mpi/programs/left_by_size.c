/* Allreduces of 8 to 128 bytes of three types. In the algorithm "linear" only rank 0 applies the operator; in MPI's own
 * other ranks do, too. Prints the sizes that ran by "linear"; repeats this for the rules given as arguments. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP = 8, MOST = 128 };
static int applied;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int bytes;
    PMPI_Type_size(*type, &bytes);
    applied++;
    for (int i = 0; i < *count * bytes; i++)
        ((unsigned char *)inout)[i] += ((unsigned char *)in)[i];
}

static void sweep(MPI_Datatype type, const char *name, MPI_Op op)
{
    int rank, ranks, size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Type_size(type, &size);
    printf(rank ? "" : "%s:", name);
    for (int bytes = STEP; bytes <= MOST; bytes += STEP) {
        unsigned char own[MOST], sum[MOST];
        int by_others = 0, wrong = 0, all_wrong;
        for (int again = 0; again < 3; again++) {
            for (int i = 0; i < bytes; i++)
                own[i] = (unsigned char)(rank + i), sum[i] = 0;
            applied = 0;
            MPI_Allreduce(own, sum, bytes / size, type, op, MPI_COMM_WORLD);
            applied = rank ? applied : 0;
            PMPI_Allreduce(&applied, &by_others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            for (int i = 0; i < bytes; i++)
                wrong += sum[i] != (unsigned char)(ranks * (ranks - 1) / 2 + ranks * i);
        }
        PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && (all_wrong || by_others == 0))
            printf(all_wrong ? " wrong" : " %d", bytes);
    }
    printf(rank ? "" : "\n");
}

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Op_create(add, 1, &op);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int run = 0; run < argc; run++) {
        char problem[256];
        int (*set_rules)(const char *, const char *, char *, size_t);
        *(void **)&set_rules = dlsym(RTLD_DEFAULT, "hocket_set_rules");
        if (run && (!set_rules || set_rules(argv[run], "rules", problem, sizeof problem)))
            printf("no such rules\n");
        sweep(MPI_BYTE, "byte", op);
        sweep(MPI_DOUBLE, "double", op);
        sweep(pair, "pair", op);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
