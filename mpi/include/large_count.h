/* Counts above the range of an int, for MPI's functions that take an int. */
#ifndef HOCKET_LARGE_COUNT_H
#define HOCKET_LARGE_COUNT_H

#include <limits.h>
#include <mpi.h>
#include <stddef.h>

/* The most bytes or elements of one MPI call. */
enum { MOST_AT_ONCE = 1 << 30 };

/* A count and a type for MPI. If the count exceeds an int, it is one element of a type made for this. */
struct large_count {
    int count;
    MPI_Datatype type;
    int is_made;
};

/* Makes one element of `large` from `count` elements, more than an int holds. */
static inline int large_type(size_t count, MPI_Datatype type, MPI_Datatype *large)
{
    MPI_Datatype many, types[2];
    MPI_Aint lower, extent, places[2] = {0, 0};
    int lengths[2] = {1, (int)(count % MOST_AT_ONCE)};
    int code = PMPI_Type_vector((int)(count / MOST_AT_ONCE), MOST_AT_ONCE, MOST_AT_ONCE, type, &many);
    if (code != MPI_SUCCESS)
        return code;
    PMPI_Type_get_extent(type, &lower, &extent);
    places[1] = (MPI_Aint)(count - count % MOST_AT_ONCE) * extent;
    types[0] = many;
    types[1] = type;
    code = PMPI_Type_create_struct(2, lengths, places, types, large);
    if (code == MPI_SUCCESS)
        code = PMPI_Type_commit(large);
    PMPI_Type_free(&many);
    return code;
}

static inline int count_as(size_t count, MPI_Datatype type, struct large_count *result)
{
    *result = (struct large_count){(int)count, type, count > INT_MAX};
    if (!result->is_made)
        return MPI_SUCCESS;
    result->count = 1;
    return large_type(count, type, &result->type);
}

static inline void release_count(struct large_count *count)
{
    if (count->is_made)
        PMPI_Type_free(&count->type);
}

#endif
