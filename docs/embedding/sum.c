/* All ranks add up a vector by a ring: libhocket runs the algorithm, and MPI's messages stand for a transport. */
#include <hocket.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 64, ELEMENTS = 8 };
static MPI_Request requests[SLOTS];

static int send(void *user, uint32_t slot, const void *data, size_t count, int32_t to, uint32_t tag)
{
    return MPI_Isend(data, (int)count, MPI_INT, to, (int)tag, MPI_COMM_WORLD, &requests[slot]);
}

static int receive(void *user, uint32_t slot, void *into, size_t count, int32_t from, uint32_t tag)
{
    int source = from == HOCKET_ANY_SOURCE ? MPI_ANY_SOURCE : from;
    return MPI_Irecv(into, (int)count, MPI_INT, source, (int)tag, MPI_COMM_WORLD, &requests[slot]);
}

/* Reports at most one message at a time, and never waits: `hocket_advance` then returns, and is called again. */
static int test(void *user, int may_wait, hocket_ended *ended, size_t room, size_t *count)
{
    MPI_Status status;
    int slot, has_ended, elements;
    int code = MPI_Testany(SLOTS, requests, &slot, &has_ended, &status);
    *count = has_ended && slot != MPI_UNDEFINED;
    if (*count) {
        MPI_Get_count(&status, MPI_INT, &elements);
        *ended = (hocket_ended){(uint32_t)slot, (uint32_t)status.MPI_SOURCE, (size_t)elements};
    }
    return code;
}

static int reduce(void *user, const void *source, void *target, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((int *)target)[i] += ((const int *)source)[i];
    return 0;
}

static int copy(void *user, const void *source, void *target, size_t count)
{
    memcpy(target, source, count * sizeof(int));
    return 0;
}

int main(void)
{
    static const hocket_transport transport = {send, receive, test, reduce, copy};
    int rank, ranks, code = 0, input[ELEMENTS], result[ELEMENTS];
    char text[200];
    const char *reason;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < SLOTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < ELEMENTS; i++)
        input[i] = rank + i;

    if (hocket_set_rules("allreduce: ring", "rules", text, sizeof text))
        return fprintf(stderr, "%s\n", text), 1;
    hocket_communicator *communicator = hocket_communicator_new(rank, ranks, &transport);
    hocket_call call = {.collective = HOCKET_ALLREDUCE,
                        .commutative = 1,
                        .count = ELEMENTS,
                        .element_bytes = sizeof(int),
                        .layout = {.extent = sizeof(int), .true_extent = sizeof(int)}};
    hocket_operation *operation = hocket_prepare(communicator, &call, &reason);
    if (!operation)
        return fprintf(stderr, "%s\n", reason), 1;
    hocket_algorithm(operation, text, sizeof text);
    hocket_start(operation, input, result, NULL);
    int state;
    while ((state = hocket_advance(operation, 1, &code)) == HOCKET_WAITS)
        ;
    if (state == HOCKET_FAILED)
        return fprintf(stderr, "the transport failed: %d\n", code), 1;
    hocket_finish(communicator, operation);
    hocket_communicator_free(communicator);

    printf("%s, rank %d: %d to %d\n", text, rank, result[0], result[ELEMENTS - 1]);
    MPI_Finalize();
    return 0;
}
