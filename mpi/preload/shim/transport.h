/* The functions by which libhocket sends, receives, reduces and copies, and packing; and what an operation has of memory and
 * messages. Tags belong to operations: each has TAGS_PER_OPERATION of its own. */
#ifndef HOCKET_SHIM_TRANSPORT_H
#define HOCKET_SHIM_TRANSPORT_H

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

extern const hocket_transport transport;

/* Moves elements as a message from this rank to itself. */
int send_to_self(const struct operation *operation, struct view from, struct view into);

/* Moves elements between memory in the caller's layout and packed bytes. */
int pack(const struct operation *operation, struct view view, char *packed, int unpacks);

/* Memory of at least so many bytes. */
char *make_room(struct room *room, size_t bytes);

/* Keeps the first error of an operation. */
void note(struct operation *operation, int code);

#pragma GCC visibility pop

#endif
