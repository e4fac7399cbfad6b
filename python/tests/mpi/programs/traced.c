/* Calls of every kind in a trace, on any number of ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, flag = 0, index, done, indices[4];
    double *data = calloc(64, sizeof *data * (size_t)ranks), *room = calloc(64, sizeof *room * (size_t)ranks);
    int *counts = malloc(sizeof(int) * (size_t)ranks), *places = malloc(sizeof(int) * (size_t)ranks);
    for (int i = 0; i < ranks; i++)
        places[i] = (counts[i] = i) * 8;
    MPI_Request requests[4];
    MPI_Status status;

    /* A ring of messages, and messages with MPI_PROC_NULL. */
    MPI_Sendrecv(data, 3, MPI_DOUBLE, right, 1, room, 4, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, room, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    MPI_Irecv(room, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, 5, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    /* Several requests completed together, one by one, and by tests that may find nothing. */
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(room + i, 1, MPI_DOUBLE, left, 10 + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(data + i, 1, MPI_DOUBLE, right, 10 + i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Waitany(4, requests, &index, &status);
    MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
    while (!flag)
        MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);

    MPI_Isend(data, 2, MPI_DOUBLE, right, 20, MPI_COMM_WORLD, &requests[0]);
    for (flag = 0; !flag;)
        MPI_Iprobe(left, 20, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Probe(MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &status);
    MPI_Recv(room, 2, MPI_DOUBLE, status.MPI_SOURCE, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Message message;
    MPI_Isend(data, 3, MPI_DOUBLE, right, 21, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(room, 8, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    /* Persistent requests, started twice. */
    MPI_Recv_init(room, 4, MPI_DOUBLE, left, 30, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(data, 4, MPI_DOUBLE, right, 30, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    /* Communicators: halves, the reversed world, and one by MPI_Comm_idup. */
    MPI_Comm half, reverse, later;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reverse);
    MPI_Comm_idup(half, &later, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Allreduce(data, room, 2, MPI_DOUBLE, MPI_MAX, half);
    MPI_Bcast(data, 3, MPI_INT, 0, reverse);
    MPI_Barrier(later);
    MPI_Comm_free(&half);

    /* Collectives, in place and with blocks of different sizes. */
    MPI_Allreduce(MPI_IN_PLACE, room, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(data, room, 1, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    MPI_Iallreduce(data, room, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Allgather(data, 1, MPI_DOUBLE, room, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, room, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Gather(data, 1, MPI_DOUBLE, room, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(data, counts, places, MPI_DOUBLE, room, rank, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(data, rank, MPI_DOUBLE, room, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(data, 1, MPI_DOUBLE, room, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce_scatter(data, room, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(data, room, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    free(data);
    free(room);
    free(counts);
    free(places);
    MPI_Finalize();
    return 0;
}
