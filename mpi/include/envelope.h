/* The envelope of a data type: the function that created it, and the number of its arguments. */
#ifndef HOCKET_ENVELOPE_H
#define HOCKET_ENVELOPE_H

#include <mpi.h>

/* The values of MPI_Type_get_envelope. `is_large` is 1 for types created with large counts: only
 * MPI_Type_get_contents_c describes them. */
struct envelope {
    int combiner, integers, addresses, types, is_large;
};

static inline struct envelope envelope_of(MPI_Datatype type)
{
    struct envelope envelope = {.combiner = MPI_COMBINER_DUP};
#if MPI_VERSION >= 4
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &envelope.combiner);
    envelope.integers = (int)integers;
    envelope.addresses = (int)addresses;
    envelope.types = (int)types;
    envelope.is_large = counts > 0;
#else
    PMPI_Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.types, &envelope.combiner);
#endif
    return envelope;
}

static inline int is_named(MPI_Datatype type)
{
    return envelope_of(type).combiner == MPI_COMBINER_NAMED;
}

/* Returns 1 if elements of a type are bytes without gaps, in the order of their addresses. */
static inline int is_flat(MPI_Datatype type)
{
    MPI_Count size, lower, extent;
    struct envelope envelope = envelope_of(type);
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent_x(type, &lower, &extent);
    if (envelope.combiner == MPI_COMBINER_NAMED)
        return lower == 0 && extent == size;
    if (envelope.is_large || (envelope.combiner != MPI_COMBINER_DUP && envelope.combiner != MPI_COMBINER_CONTIGUOUS))
        return 0;
    int count, flat;
    MPI_Datatype inner;
    if (PMPI_Type_get_contents(type, envelope.integers, envelope.addresses, envelope.types, &count, NULL, &inner) !=
        MPI_SUCCESS)
        return 0;
    flat = is_flat(inner);
    if (!is_named(inner))
        PMPI_Type_free(&inner);
    return flat;
}

#endif
