/* Short calls within a node: lanes that fill up while a rank sleeps, messages that overtake others, ranks that use MPI
 * meanwhile, and more communicators than get shared memory. Prints whether memory is shared, and errors. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, wrong;

static void check(int is_right, const char *what)
{
    if (!is_right && !wrong++)
        printf("rank %d: %s\n", rank, what);
}

/* Returns 1 if this process has mapped shared memory of the library. */
static int shares(void)
{
    char line[4096];
    int is_there = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        is_there |= strstr(line, "/memfd:hocket ") != NULL;
    fclose(maps);
    return is_there;
}

/* The root sends more than a lane holds before the others receive, as messages of one cell and of several. */
static void fill(MPI_Comm comm)
{
    char data[1024];
    if (rank == ranks - 1)
        usleep(100000);
    for (int i = 0; i < 400; i++) {
        int bytes = i % 7 == 0 ? 1024 : i % 5;
        memset(data, rank == 0 ? i : 0, sizeof data);
        MPI_Bcast(data, bytes, MPI_CHAR, 0, comm);
        for (int k = 0; k < bytes; k++)
            check(data[k] == (char)i, "a broadcast");
    }
}

/* A long message of the program needs progress of its sender, which waits in a short collective. */
static void send_meanwhile(MPI_Comm comm)
{
    enum { COUNT = 1 << 20 };
    int *data = malloc(COUNT * sizeof *data), sum = 0;
    MPI_Request request;
    for (int i = 0; i < COUNT; i++)
        data[i] = rank == 0 ? i : 0;
    if (ranks > 1 && rank == 0)
        MPI_Isend(data, COUNT, MPI_INT, ranks - 1, 0, comm, &request);
    if (ranks > 1 && rank == ranks - 1)
        MPI_Recv(data, COUNT, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (ranks > 1 && rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(sum == ranks * (ranks - 1) / 2, "a sum beside a message");
    check(rank != ranks - 1 || data[COUNT - 1] == COUNT - 1, "a message beside a sum");
    free(data);
}

static void sum_in_many(void)
{
    enum { MANY = 300 };
    static MPI_Comm comms[MANY];
    for (int i = 0; i < MANY; i++) {
        int sum = 0, one = 1, size;
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? rank % 2 : 0, -rank, &comms[i]);
        MPI_Comm_size(comms[i], &size);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        check(sum == size, "a sum in a new communicator");
        if (i % 2)
            MPI_Comm_free(&comms[i]);
    }
    for (int i = 0; i < MANY; i += 2)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    (void)argc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 3; i++) {
        fill(MPI_COMM_WORLD);
        send_meanwhile(MPI_COMM_WORLD);
    }
    sum_in_many();
    int mine[2] = {shares(), wrong}, all[2];
    MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of %d share, %d wrong\n", all[0], ranks, all[1]);
    MPI_Finalize();
    return 0;
}
