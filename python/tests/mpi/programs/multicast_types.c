/* Multicasts of data with gaps between elements; with "large" also of more than INT_MAX bytes.
 *
 *     multicast_types [large]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hocket_mpi.h"

static void check(int is_right, const char *what) {
    if (!is_right) {
        fprintf(stderr, "%s: %s\n", what, hocket_mcast_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned char *all = malloc((size_t)ranks);
    memset(all, 0xff, (size_t)ranks);
    if (ranks % 8)
        all[(ranks + 7) / 8 - 1] = (unsigned char)((1 << ranks % 8) - 1);
    size_t bitmap_bytes = (size_t)(ranks + 7) / 8;
    hocket_mcast_domain *domain;
    check(hocket_mcast_domain_create(MPI_COMM_WORLD, 0, NULL, &domain) == MPI_SUCCESS, "create");
    uint64_t id;

    /* Two of three ints, and a pair with a gap: an array of 5000 elements is too long to be inlined. */
    MPI_Datatype sparse, reversed;
    int places[2] = {1, 0}, lengths[2] = {1, 1};
    MPI_Type_vector(2, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &reversed);
    MPI_Type_commit(&reversed);
    enum { COUNT = 5000 };
    int *given = malloc(3 * COUNT * sizeof *given), *got = malloc(3 * COUNT * sizeof *got);
    for (int i = 0; i < 3 * COUNT; i++) {
        given[i] = i;
        got[i] = -1;
    }
    hocket_mcast_status status;
    if (rank == 0)
        check(hocket_mcast_send(domain, all, bitmap_bytes, given, COUNT, sparse, &id) == MPI_SUCCESS, "send");
    check(hocket_mcast_recv(domain, got, COUNT, sparse, &status) == MPI_SUCCESS, "recv");
    check(status.count == COUNT && status.bytes == 2 * COUNT * sizeof(int) && status.size == ranks, "status");
    for (int i = 0; i < 3 * COUNT; i++)
        check(got[i] == (i % 3 == 1 ? -1 : i), "data with gaps");

    /* Reordered ints have no gaps, but differ from their bytes in memory. */
    if (rank == 0)
        check(hocket_mcast_send(domain, all, bitmap_bytes, given, 1, reversed, &id) == MPI_SUCCESS, "send");
    check(hocket_mcast_recv(domain, got, 2, MPI_INT, NULL) == MPI_SUCCESS && got[0] == 1 && got[1] == 0, "reversed");

    /* A sum of elements with gaps over the group. */
    hocket_multicast task;
    if (rank == 0)
        check(hocket_mcast_send(domain, all, bitmap_bytes, NULL, 0, MPI_BYTE, &id) == MPI_SUCCESS, "send");
    check(hocket_mcast_take(domain, &task) == MPI_SUCCESS && task.size == ranks && task.rank == rank, "take");
    long mine[3] = {rank, 1, 2}, sums[3] = {0, 0, 0};
    check(hocket_mcast_collective(domain, &task, HOCKET_ALLREDUCE, mine, sums, 3, MPI_LONG, MPI_SUM, 0) == MPI_SUCCESS,
          "allreduce");
    check(sums[0] == (long)ranks * (ranks - 1) / 2 && sums[1] == ranks && sums[2] == 2 * ranks, "sums");
    check(hocket_mcast_collective(domain, &task, HOCKET_ALLREDUCE, mine, sums, -1, MPI_LONG, MPI_SUM, 0) ==
              HOCKET_ERR_ARGUMENT, "count below 0");
    check(hocket_mcast_collective(domain, &task, 77, mine, sums, 1, MPI_LONG, MPI_SUM, 0) == HOCKET_ERR_ARGUMENT,
          "no collective");
    check(hocket_mcast_release(domain, task.id) == MPI_SUCCESS, "release");
    check(hocket_mcast_release(domain, task.id) == HOCKET_ERR_ARGUMENT, "released twice");

    /* Elements of 2^31 bytes, with a gap and without. */
    MPI_Datatype half, giant, torn;
    MPI_Type_contiguous(1 << 30, MPI_BYTE, &half);
    MPI_Type_contiguous(2, half, &giant);
    MPI_Type_commit(&giant);
    MPI_Type_vector(2, 1 << 30, (1 << 30) + 1, MPI_BYTE, &torn);
    MPI_Type_commit(&torn);
    check(hocket_mcast_recv(domain, given, 1, torn, NULL) == HOCKET_ERR_ARGUMENT, "giants with gaps");

    if (argc > 1) {
        MPI_Count count = ((MPI_Count)1 << 31) + 12345;
        unsigned char *large = malloc((size_t)count);
        check(large != NULL, "memory");
        memset(large, rank == 0 ? 5 : 0, (size_t)count);
        if (rank == 0) {
            large[count - 1] = 9;
            check(hocket_mcast_send(domain, all, bitmap_bytes, large, count, MPI_BYTE, &id) == MPI_SUCCESS, "send");
        }
        check(hocket_mcast_recv(domain, large, count, MPI_BYTE, &status) == MPI_SUCCESS && status.count == count, "recv");
        check(large[0] == 5 && large[count / 2] == 5 && large[count - 2] == 5 && large[count - 1] == 9, "large");
        large[0] = rank == 0 ? 7 : 0;
        if (rank == 0)
            check(hocket_mcast_send(domain, all, bitmap_bytes, large, 1, giant, &id) == MPI_SUCCESS, "send a giant");
        check(hocket_mcast_recv(domain, large, count, MPI_BYTE, &status) == MPI_SUCCESS, "recv a giant");
        check(large[0] == 7 && status.bytes == (size_t)1 << 31, "a giant");
        free(large);
    }
    check(hocket_mcast_domain_free(&domain) == MPI_SUCCESS && domain == NULL, "free");
    if (rank == 0)
        printf("ok\n");
    MPI_Finalize();
    return 0;
}
