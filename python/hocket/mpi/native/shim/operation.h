/* One call that an algorithm runs: on the stack of the thread that calls it if it is blocking, else part of a started
 * call. libhocket keeps programs for calls like it. A persistent call is prepared and placed once, and started many times. */
#ifndef HOCKET_SHIM_OPERATION_H
#define HOCKET_SHIM_OPERATION_H

#include <stdint.h>

#include "communicator.h"

#pragma GCC visibility push(hidden)

/* Memory that grows. */
struct room {
    char *bytes;
    size_t size;
};

/* A message under way. */
struct message {
    MPI_Request request;
    uint32_t slot;
    int is_receive;
    /* The bytes that are sent, or the most that are received. */
    size_t room;
    void *at;
    int peer, tag;
    /* It goes by memory of the node; its number if it is sent. */
    int is_shared;
    uint32_t number;
};

/* Messages that an operation has place for without allocating memory. */
enum { FEW_MESSAGES = 8 };

struct operation {
    struct communicator *comm;
    struct call *call;
    hocket_operation *program;
    /* The type of the elements that the program works on, and whether they lie one after the other without gaps. */
    MPI_Datatype type;
    int is_dense;
    int is_done;
    /* The first error: the program goes on, since other ranks wait for it, and the call returns this. */
    int error;
    /* The first of its tags. */
    int first_tag;
    /* The memory by which messages to ranks of this node go, or NULL; and how often it has looked for messages. */
    struct node_memory *memory;
    unsigned looks;
    /* What the program is given of the call's input and result, and where it finds them: there, or packed. */
    struct view input, result;
    void *input_at, *result_at;
    /* Packed data, and elements that are copied. */
    struct room packed_input, packed_result, copying;
    /* Messages under way: `few`, or allocated if there are more. */
    struct message *messages;
    int under_way, message_room;
    struct message few[FEW_MESSAGES];
};

/* Chooses the algorithm for a call; returns 0 if the call is left to MPI, which is logged. The call must stay where it is.
 * All ranks do so in the same order. */
int prepare(struct operation *operation, struct call *call);
/* Reports the error with which MPI refuses a call on this rank, and returns it: before the rank takes part, as MPI reports it at once. */
int report_refused(struct call *call);
/* Decides which of the caller's buffers are packed, and makes room for them. */
void place(struct operation *operation);
/* Packs what is packed, and starts the program: for the first time, or after it has ended. */
void start(struct operation *operation);
/* Advances an operation; returns 1 if it has ended. */
int advance(struct operation *operation, int may_wait);
/* Gives the program back to libhocket. After an error, messages may be under way: nothing is freed then. */
void finish(struct operation *operation);

#pragma GCC visibility pop

#endif
