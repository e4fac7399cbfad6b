/* Data types of the caller: how their elements lie in memory, and counts that an int does not hold. */
#ifndef HOCKET_SHIM_TYPES_H
#define HOCKET_SHIM_TYPES_H

#include "process.h"

#pragma GCC visibility push(hidden)

/* How the elements of a type lie in memory; dense if they lie one after the other without gaps, as those of most named
 * types do, and of types made of these by MPI_Type_contiguous and MPI_Type_dup. */
struct shape {
    MPI_Datatype type;
    int is_named, is_dense;
    size_t bytes;
    hocket_layout layout;
};

/* The shape of the type for which this thread asked last. */
extern THREAD_OWNED struct shape last_shape;
/* The shape of a type, valid until the thread asks for the next one. */
const struct shape *shape_of(MPI_Datatype type);

/* The address of an element. */
static inline char *element(const void *base, size_t index, ptrdiff_t extent)
{
    return (char *)base + (ptrdiff_t)index * extent;
}

/* A count and a type as MPI takes them: if an int cannot hold the number of elements, one element of a type made for
 * them. */
struct counted {
    int count;
    MPI_Datatype type;
    int is_made;
};

int counted(size_t count, MPI_Datatype type, struct counted *counted);
void release_counted(struct counted *counted);

/* Creates and frees the communicator that MPI checks types and operators on. */
void begin_types(void);
void end_types(void);

#pragma GCC visibility pop

#endif
