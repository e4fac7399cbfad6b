/* How a data type was made. */
#ifndef HOCKET_ENVELOPE_H
#define HOCKET_ENVELOPE_H

#include <mpi.h>

/* What MPI_Type_get_envelope says; `is_large` where only its form for large counts does, as of all types that were made with
 * those. */
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

#endif
