/* The interface between the parts of the tracing library, which write one line of JSON per call: see docs/replay.md. */
#ifndef HOCKET_TRACE_H
#define HOCKET_TRACE_H

#include <mpi.h>
#include <stddef.h>

/* The beginning of a call; `is_traced` is 0 if MPI makes the call inside another one. */
struct moment {
    double start_s;
    int is_traced;
};

/* Begins the trace; all ranks of MPI_COMM_WORLD call it after MPI is initialised. */
void trace_begin(void);
/* Gathers the trace into the file that HOCKET_TRACE names; called before MPI is finalised. */
void trace_end(void);

struct moment call_begins(void);
/* Opens the line of a call that returned `code`; fields and line_ends() follow. Returns 0 if the call has no line. */
int call_ends(struct moment call_start, const char *function, int code);
void line_ends(void);
/* A test or probe that found nothing. Successive ones of a thread share a line. */
void look_failed(struct moment call_start, const char *function);

void field(const char *name, long long value);
void fields(const char *name, const void *values, size_t element_bytes, int count);
void flag_field(const char *name, int value);
void text_field(const char *name, const char *text);
/* Writes the number of a communicator, and its ranks if it is new. */
void comm_field(MPI_Comm comm);
void new_comm_field(MPI_Comm comm);
/* Writes the number of a communicator that MPI has yet to create, with the ranks of `parent`; returns the number. */
int coming_comm_field(MPI_Comm parent);
/* <prefix>peer, <prefix>tag */
void peer_fields(const char *prefix, int peer, int tag);
/* <prefix>count, <prefix>type, <prefix>type_bytes */
void data_fields(const char *prefix, MPI_Count count, MPI_Datatype type);
void type_fields(const char *prefix, MPI_Datatype type);
void op_fields(MPI_Op op);
void root_field(int root);
/* Returns 1 if this process is the root of a collective by its arguments. */
int is_root(MPI_Comm comm, int root);
/* The number of ranks that have a block in a collective on this communicator. */
int blocks_of(MPI_Comm comm);
/* The number of a communicator; -1 if it has none. */
int comm_number(MPI_Comm comm);

/* The library's knowledge of a request. */
struct request_facts {
    MPI_Request handle;
    int number;
    int is_receive;
    int is_persistent;
    /* For MPI_Comm_idup: where MPI writes the new communicator, and its number. */
    MPI_Comm *comm;
    int comm_number;
};

/* Numbers the request of a call, and writes the field "request". */
void request_field(MPI_Request request, struct request_facts facts);
/* Takes the knowledge of requests before a call that may complete them; NULL if the call is not traced. */
struct request_facts *take_requests(int count, const MPI_Request *requests);
/* Memory for the statuses of these requests, which is freed with `facts`. */
MPI_Status *room_for_statuses(int count, struct request_facts *facts);
/* Writes the `completed` requests, chosen by `indices` or the first ones; keeps the others and frees `facts`. */
void completed_fields(int count, struct request_facts *facts, int completed, const int *indices,
                      const MPI_Status *statuses);
/* No request has completed: keeps all, and frees `facts`, if any. */
void keep_requests(int count, struct request_facts *facts);
/* Writes the numbers of requests that a call only names. */
void named_fields(int count, const MPI_Request *requests);
/* A message that a probe matched, until it is received: its communicator, source and tag. */
struct message_facts {
    int comm, peer, tag;
};

void keep_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status);
struct message_facts take_message(MPI_Message message);
void matched_fields(struct message_facts facts);
/* Writes the result of a receive: "got": [source, tag, bytes]. */
void got_field(const MPI_Status *status);

#endif
