/* What the parts of the tracing library share: a line of JSON per call, as docs/traces.md describes it. */
#ifndef HOCKET_TRACE_H
#define HOCKET_TRACE_H

#include <mpi.h>
#include <stddef.h>

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#endif

/* A call that began; `is_traced` unless MPI itself makes it inside of another. */
struct moment {
    double start_s;
    int is_traced;
};

/* Begins to trace; all ranks of MPI_COMM_WORLD call it, once MPI is initialised. */
void trace_begin(void);
/* Gathers what was traced into the file that HOCKET_TRACE names; before MPI is finalised. */
void trace_end(void);

struct moment call_begins(void);
/* Opens the line of a call that returned `code`; 0 if there is none to write. Then fields, then line_ends(). */
int call_ends(struct moment begun, const char *function, int code);
void line_ends(void);
/* A look that found nothing: successive ones of a thread share a line. */
void look_failed(struct moment begun, const char *function);

void field(const char *name, long long value);
void fields(const char *name, const void *values, size_t element_bytes, int count);
void flag_field(const char *name, int value);
void text_field(const char *name, const char *text);
/* A communicator by its number, with its ranks where it is new. */
void comm_field(MPI_Comm comm);
void new_comm_field(MPI_Comm comm);
/* Of one that will be there later, with the ranks of `like`; its number. */
int coming_comm_field(MPI_Comm like);
/* <prefix>peer, <prefix>tag */
void peer_fields(const char *prefix, int peer, int tag);
/* <prefix>count, <prefix>type, <prefix>type_bytes */
void data_fields(const char *prefix, MPI_Count count, MPI_Datatype type);
void type_fields(const char *prefix, MPI_Datatype type);
void op_fields(MPI_Op op);
void root_field(int root);
/* Whether this process is the root of a collective, as far as its arguments go. */
int is_root(MPI_Comm comm, int root);
/* How many processes' blocks a collective has on this communicator. */
int blocks_of(MPI_Comm comm);
/* The number of a communicator; -1 if it has none. */
int comm_number(MPI_Comm comm);

/* What is known of a request. */
struct known {
    int number;
    int is_receive;
    int is_persistent;
    /* Of MPI_Comm_idup: where the communicator will be, and its number. */
    MPI_Comm *comm;
    int comm_number;
};

/* Numbers a request that a call made, and tells it as "request". */
void request_field(MPI_Request request, struct known known);
/* Takes what is known of requests before a call that may complete them; NULL where there are none. */
struct known *take_requests(int count, const MPI_Request *requests);
/* Tells the `completed` requests, those of `indices` or the first ones, keeps the others, and frees `known`. */
void completed_fields(int count, struct known *known, const MPI_Request *before, int completed, const int *indices,
                      const MPI_Status *statuses);
/* None completed: keeps all, and frees `known`. */
void keep_requests(int count, struct known *known, const MPI_Request *requests);
/* Tells the numbers of requests that are only named. */
void named_fields(int count, const MPI_Request *requests);
/* Of a message that a probe matched: where it comes from, until it is received. */
struct matched {
    int comm, peer, tag;
};

void keep_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status);
struct matched take_message(MPI_Message message);
void matched_fields(struct matched matched);
/* What a receive got: "got": [source, tag, bytes] */
void got_field(const MPI_Status *status);

#endif
