/* The functions by which libhocket sends, receives, reduces and copies; packing; the memory and the messages of an
 * operation. Each operation has TAGS_PER_OPERATION tags. */
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
    /* The bytes sent, or the most bytes to receive. */
    size_t room;
    void *at;
    int peer, tag;
    /* Whether it uses shared memory; if it is sent, its number there. */
    int is_shared;
    uint32_t number;
};

/* Messages of an operation without allocated memory; counts of messages sent, one for each peer of so many. */
enum { FEW_MESSAGES = 8, PEERS_APART = 32 };

struct operation {
    struct communicator *comm;
    struct call *call;
    hocket_operation *program;
    /* The type of the program's elements, and whether they lie one after the other without gaps. */
    MPI_Datatype type;
    int is_dense;
    int is_done;
    /* The first error. The program still goes on, since other ranks wait for it; then the call returns this error. */
    int error;
    /* The first tag of the operation. */
    int first_tag;
    /* The shared memory for messages within this node, or NULL; the number of looks for messages. */
    struct node_memory *memory;
    unsigned looks;
    /* Input and result of the program, and where they lie: in place or packed. */
    struct view input, result;
    void *input_at, *result_at;
    /* Packed data, and a buffer for copies of elements with gaps. */
    struct room packed_input, packed_result, copying;
    /* Messages under way: `few`, or allocated memory for more. */
    struct message *messages;
    int under_way, message_room;
    struct message few[FEW_MESSAGES];
    /* The number of messages sent to peers through MPI, up to a multiple of 256. */
    uint8_t sends[PEERS_APART];
};

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
