/* The traced calls: each runs MPI's own function and writes a line. functions.h lists them, a file of
 * python/hocket/traces/ that `make setup` copies here. */
#define _GNU_SOURCE
#include "arguments.h"
#include "library.h"
#include "trace.h"

#include <stdlib.h>

/* Beginning and end */

DEFINE_INIT(, trace_begin())

int MPI_Finalize(void)
{
    trace_end();
    return PMPI_Finalize();
}

/* Values of lines, from the arguments of the function */

#define COMM comm_field(comm);
#define TO peer_fields("", dest, tag);
#define FROM peer_fields("", source, tag);
#define SEND_TO peer_fields("", dest, sendtag);
#define RECV_FROM peer_fields("recv_", source, recvtag);
#define DATA data_fields("", count, datatype);
#define REPLACED data_fields("recv_", count, datatype);
#define SENT data_fields("", sendcount, sendtype);
#define RECEIVED data_fields("recv_", recvcount, recvtype);
#define GOT got_field(status);
#define MATCHED matched_fields(matched_message);
#define KEPT_MESSAGE keep_message(*message, comm, status);
#define REQUEST request_field(*request, (struct request_facts){0});
#define RECV_REQUEST request_field(*request, (struct request_facts){.is_receive = 1});
#define PERSISTENT request_field(*request, (struct request_facts){.is_persistent = 1});
#define PERSISTENT_RECV request_field(*request, (struct request_facts){.is_receive = 1, .is_persistent = 1});
#define NAMED named_fields(1, request);
#define ALL_NAMED named_fields(number, request);
#define ROOT root_field(root);
#define OP op_fields(op);
#define NEW new_comm_field(*newcomm);
#define NOT_BY_ALL
#define COMING request_field(*request, (struct request_facts){.comm = newcomm, .comm_number = coming_comm_field(comm)});
#define FREED field("comm", freed_number);

#define IN_PLACE in_place(sendbuf);
#define OUT_OF_PLACE(values)                                                                                           \
    if (!in_place(sendbuf)) {                                                                                          \
        values                                                                                                         \
    }
#define AT_ROOT(values)                                                                                                \
    if (is_root(comm, root)) {                                                                                         \
        values                                                                                                         \
    }
/* The ranks beside the root of an intercommunicator neither send nor receive. */
#define SENDER(values) BESIDE_ROOT(sendbuf, values)
#define RECEIVER(values) BESIDE_ROOT(recvbuf, values)
#define BESIDE_ROOT(buffer, values)                                                                                    \
    if (!in_place(buffer) && root != MPI_ROOT && root != MPI_PROC_NULL) {                                              \
        values                                                                                                         \
    }

static int in_place(const void *buffer)
{
    if (buffer == MPI_IN_PLACE)
        flag_field("in_place", 1);
    return buffer == MPI_IN_PLACE;
}

/* Blocks of different sizes. Those of MPI_Alltoallw have their own types, so that their sizes are in bytes. */
#define COUNTS counts_fields("", "counts", blocks_of(comm), sendcounts, sizeof *sendcounts, sendtype);
#define RECV_COUNTS counts_fields("recv_", "recv_counts", blocks_of(comm), recvcounts, sizeof *recvcounts, recvtype);
#define SCATTERED counts_fields("", "counts", size_of(comm), recvcounts, sizeof *recvcounts, datatype);
#define BYTES bytes_fields("", "counts", blocks_of(comm), sendcounts, sizeof *sendcounts, sendtypes);
#define RECV_BYTES bytes_fields("recv_", "recv_counts", blocks_of(comm), recvcounts, sizeof *recvcounts, recvtypes);

static int size_of(MPI_Comm comm)
{
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    return ranks;
}

static void counts_fields(const char *prefix, const char *name, int blocks, const void *counts, size_t count_bytes,
                          MPI_Datatype type)
{
    fields(name, counts, count_bytes, blocks);
    type_fields(prefix, type);
}

static void bytes_fields(const char *prefix, const char *name, int blocks, const void *counts, size_t count_bytes,
                         const MPI_Datatype types[])
{
    MPI_Count *bytes = malloc(sizeof *bytes * (size_t)(blocks + 1));
    for (int i = 0; bytes && i < blocks; i++) {
        PMPI_Type_size_x(types[i], &bytes[i]);
        bytes[i] *= count_bytes == sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
    }
    counts_fields(prefix, name, bytes ? blocks : 0, bytes, sizeof *bytes, MPI_BYTE);
    free(bytes);
}

/* What MPI overwrites or the program does not keep. */
#define OWN_STATUS                                                                                                     \
    MPI_Status own_status;                                                                                             \
    if (status == MPI_STATUS_IGNORE)                                                                                   \
        status = &own_status;
#define TAKEN_MESSAGE struct message_facts matched_message = take_message(*message);
#define FREED_NUMBER int freed_number = comm_number(*freed);

/* Functions */

/* `has_found` is 0 after a call that has found nothing. */
#define TRACED(name, list, values, has_found, ...)                                                                     \
    int FORM(MPI_##name)(PARAMETERS list)                                                                              \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
        struct moment call_start = call_begins();                                                                      \
        int code = FORM(PMPI_##name)(ARGUMENTS list);                                                                  \
        if (code == MPI_SUCCESS && !(has_found)) {                                                                     \
            look_failed(call_start, "MPI_" #name);                                                                     \
        } else if (call_ends(call_start, "MPI_" #name, code)) {                                                        \
            values line_ends();                                                                                        \
        }                                                                                                              \
        return code;                                                                                                   \
    }
#define COUNTED(kind, name, list, values, ...) TRACED(name, list, values, 1, __VA_ARGS__)
#define COLLECTIVE(name, nonblocking, list, values)                                                                    \
    TRACED(name, list, values, 1)                                                                                      \
    TRACED(nonblocking, (UNPACKED list, request), values REQUEST, 1)
#define CALL COUNTED
#define LOOK(kind, name, list, values, ...) TRACED(name, list, values, *flag, __VA_ARGS__)

/* Functions that complete `completed` of `number` requests: those in `indices`, or the first ones. */
#define COMPLETES(name, list, is_done, number, completed, indices, ignored)                                            \
    int MPI_##name(PARAMETERS list)                                                                                    \
    {                                                                                                                  \
        struct moment call_start = call_begins();                                                                      \
        struct request_facts *facts = take_requests(number, request);                                                  \
        if (facts && status == (ignored))                                                                              \
            status = room_for_statuses(number, facts);                                                                 \
        int code = PMPI_##name(ARGUMENTS list);                                                                        \
        if (facts && code == MPI_SUCCESS && !(is_done)) {                                                              \
            look_failed(call_start, "MPI_" #name);                                                                     \
            keep_requests(number, facts);                                                                              \
        } else if (call_ends(call_start, "MPI_" #name, facts ? code : MPI_ERR_OTHER)) {                                \
            completed_fields(number, facts, completed, indices, status);                                               \
            line_ends();                                                                                               \
        } else {                                                                                                       \
            keep_requests(number, facts);                                                                              \
        }                                                                                                              \
        return code;                                                                                                   \
    }
#define ONE 1, 1, NULL, MPI_STATUS_IGNORE
#define ALL number, number, NULL, MPI_STATUSES_IGNORE
#define ANY number, *index != MPI_UNDEFINED, index, MPI_STATUS_IGNORE
#define SOME number, *outcount == MPI_UNDEFINED ? 0 : *outcount, index, MPI_STATUSES_IGNORE
#define WAIT(kind, name, list, values, which) COMPLETES(name, list, 1, which)
#define TEST(kind, name, list, values, is_done, which) COMPLETES(name, list, is_done, which)

int MPI_Request_free(MPI_Request *request)
{
    struct moment call_start = call_begins();
    struct request_facts *facts = take_requests(1, request);
    int code = PMPI_Request_free(request);
    if (call_ends(call_start, "MPI_Request_free", code)) {
        fields("requests", &facts->number, sizeof facts->number, facts->number >= 0);
        line_ends();
        free(facts);
    } else {
        keep_requests(1, facts);
    }
    return code;
}
#define BY_HAND(...)

#define COUNT int
#define PLACE int
#define FORM(name) name
#include "functions.h"

#ifdef HAS_LARGE_COUNTS
#undef CALL
#undef LOOK
#undef WAIT
#undef TEST
#undef COUNT
#undef PLACE
#undef FORM
#define CALL(...)
#define LOOK(...)
#define WAIT(...)
#define TEST(...)
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define FORM(name) name##_c
#include "functions.h"
#endif
