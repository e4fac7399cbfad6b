/* Memory that the ranks of a communicator share on a node, for messages of short blocking calls. A short message costs
 * one cache line, whereas MPI needs two calls and matches them. Each ordered pair of ranks has a lane, a queue of cells
 * with the size of a cache line. A sender waits while the lane is full. A receiver takes messages of a tag in order,
 * and keeps messages of other tags for later. At most one blocking call of a communicator is under way; it owns all
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

/* Creates the memory; `nodes` has the node of each rank. All ranks call it; ranks of a node wait for each other by
 * messages with `tag`. NULL on all ranks of a node if it has one rank, or a rank that cannot share memory. */
struct node_memory *new_node_memory(MPI_Comm comm, const int *nodes, int tag);
void free_node_memory(struct node_memory *memory);

/* Returns 1 if `rank` is another rank of this node. */
int shares_memory_with(const struct node_memory *memory, int rank);

/* Sends a message. Returns 1 if it has left. Else it waits for room in the lane, behind earlier messages; its data must
 * stay, and `number` identifies it among the messages to this rank. */
int put(struct node_memory *memory, int rank, int tag, const void *data, size_t bytes, uint32_t *number);
/* Returns 1 if a message that waited has left. */
int has_left(struct node_memory *memory, int rank, uint32_t number);

/* Takes the first message of this tag from a rank; copies at most `room` bytes and sets `bytes` to its length. Returns
 * 0 if there is none. */
int take(struct node_memory *memory, int rank, int tag, void *into, size_t room, size_t *bytes);
/* Returns 1 if there is a message of this tag from a rank. */
int has_arrived(struct node_memory *memory, int rank, int tag);

#pragma GCC visibility pop

#endif
