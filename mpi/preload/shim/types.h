/* Data types of the caller: the layout of their elements, and counts above the range of an int. */
#ifndef HOCKET_SHIM_TYPES_H
#define HOCKET_SHIM_TYPES_H

#include "large_count.h"
#include "process.h"

#pragma GCC visibility push(hidden)

/* The layout of a type's elements. Dense elements lie one after the other without gaps, as elements of most named types
 * do, and of types made from these by MPI_Type_contiguous and MPI_Type_dup. */
struct shape {
    MPI_Datatype type;
    int is_named, is_dense;
    size_t bytes;
    hocket_layout layout;
};

/* The last shape that shape_of returned in this thread. */
extern THREAD_OWNED struct shape last_shape;
/* The shape of a type, valid until the next call in this thread. */
const struct shape *shape_of(MPI_Datatype type);

/* The address of an element. */
static inline char *element(const void *base, size_t index, ptrdiff_t extent)
{
    return (char *)base + (ptrdiff_t)index * extent;
}

/* Creates and frees the communicator for MPI's checks of types and operators. */
void begin_types(void);
void end_types(void);

#pragma GCC visibility pop

#endif
