/* Memory that the ranks of a communicator share on a node. Messages of short blocking calls between these ranks travel there,
 * where a short one costs a cache line: MPI takes two calls for it, and matches it. Each ordered pair of ranks has a lane, a
 * queue of cells as long as cache lines. A sender waits while the lane is full. A receiver takes the messages of a tag in the order in
 * which they were sent, and keeps those of other tags for later. The one blocking call of the communicator that is under way owns all
 * lanes, so that no lock is needed. */
#ifndef HOCKET_SHIM_NODE_MEMORY_H
#define HOCKET_SHIM_NODE_MEMORY_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct node_memory;

/* The most bytes of a message. */
enum { MOST_SHARED = 1024 };

/* All ranks of a communicator call it, and those of a node wait for each other. `nodes` has the node of each rank. NULL on all ranks
 * of a node if there is only one, or one of them cannot share memory. Messages of this tag are used. */
struct node_memory *new_node_memory(MPI_Comm comm, const int *nodes, int tag);
void free_node_memory(struct node_memory *memory);

/* Returns 1 if a rank is another one of this node. */
int shares_memory_with(const struct node_memory *memory, int rank);

/* Sends a message. Returns 1 if it has left. Else it waits for room in the lane, after those before it, its data must stay, and `number`
 * tells it from others to this rank. */
int put(struct node_memory *memory, int rank, int tag, const void *data, size_t bytes, uint32_t *number);
/* Returns 1 if a message that waited has left. */
int has_left(struct node_memory *memory, int rank, uint32_t number);

/* Takes the first message of this tag from a rank, of which only `room` bytes are copied; returns 0 if there is none, else its length
 * is in `bytes`. */
int take(struct node_memory *memory, int rank, int tag, void *into, size_t room, size_t *bytes);
/* Returns 1 if there is a message of this tag from a rank. */
int has_arrived(struct node_memory *memory, int rank, int tag);

#pragma GCC visibility pop

#endif
