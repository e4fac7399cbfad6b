/* The neighbours of a rank in a communicator with a topology. They are asked for once, since a topology never changes. */
#ifndef HOCKET_SHIM_NEIGHBORS_H
#define HOCKET_SHIM_NEIGHBORS_H

#include "shim.h"

#pragma GCC visibility push(hidden)

/* The neighbours of this rank, to be freed with free_neighbors(); NULL if the communicator has no topology. */
struct neighbors *new_neighbors(MPI_Comm comm);
void free_neighbors(struct neighbors *neighbors);

#pragma GCC visibility pop

#endif
