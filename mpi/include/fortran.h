/* Defines functions that Fortran programs call, and converts their arguments to C. */
#ifndef HOCKET_FORTRAN_H
#define HOCKET_FORTRAN_H

#include <mpi.h>

#include "arguments.h"

static inline void set(MPI_Fint *error, int code)
{
    if (error) /* optional in mpi_f08 */
        *error = (MPI_Fint)code;
}

/* Defines mpi_<name>_f08_ for the module mpi_f08; under Open MPI also mpi_<name>_, for mpif.h and the module mpi. */
#ifdef OPEN_MPI
#define FORTRAN(name, parameters, ...)                                                                                 \
    FORTRAN_FUNCTION(mpi_##name##_, parameters, __VA_ARGS__)                                                           \
    FORTRAN_FUNCTION(mpi_##name##_f08_, parameters, __VA_ARGS__)
#else
#define FORTRAN(name, parameters, ...) FORTRAN_FUNCTION(mpi_##name##_f08_, parameters, __VA_ARGS__)
#endif
#define FORTRAN_FUNCTION(name, parameters, ...)                                                                        \
    void name parameters;                                                                                              \
    void name parameters                                                                                               \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* A function that calls `function` with the arguments of `list`. */
#define FORTRAN_CALL(name, function, list)                                                                             \
    FORTRAN(name, (FORTRAN_PARAMETERS list, MPI_Fint *error), set(error, function(FROM_FORTRAN list));)
#define FORTRAN_PARAMETERS(...) EACH(FORTRAN_DECLARED, __VA_ARGS__)
#define FORTRAN_DECLARED(argument) EXPANDED(FORTRAN_DECLARATION ARGUMENT_##argument)
#define FORTRAN_DECLARATION(type, name, conversion) MPI_Fint *name
#define FROM_FORTRAN(...) EACH(CONVERTED, __VA_ARGS__)
#define CONVERTED(argument) EXPANDED(CONVERSION ARGUMENT_##argument)
#define CONVERSION(type, name, conversion) conversion(name)
#define to_int(argument) *argument
#define to_ints(argument) argument
#define to_type(argument) PMPI_Type_f2c(*argument)
#define to_op(argument) PMPI_Op_f2c(*argument)
#define to_comm(argument) PMPI_Comm_f2c(*argument)

/* The beginning, where `before` runs first, the end, and the barrier. */
#define FORTRAN_BEGIN_AND_END(before)                                                                                  \
    FORTRAN(init, (MPI_Fint *error), before; set(error, MPI_Init(NULL, NULL));)                                        \
    FORTRAN(init_thread, (MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error), before;                            \
            set(error, MPI_Init_thread(NULL, NULL, *required, provided));)                                             \
    FORTRAN(finalize, (MPI_Fint *error), set(error, MPI_Finalize());)                                                  \
    FORTRAN_CALL(barrier, MPI_Barrier, (comm))

#ifdef OPEN_MPI
/* In Fortran, MPI_IN_PLACE and MPI_BOTTOM are addresses of these variables. */
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));

static inline void *to_address(void *pointer)
{
    if (&mpi_fortran_in_place_ && pointer == (void *)&mpi_fortran_in_place_)
        return MPI_IN_PLACE;
    if (&mpi_fortran_bottom_ && pointer == (void *)&mpi_fortran_bottom_)
        return MPI_BOTTOM;
    return pointer;
}

/* The collectives that block. */
#define FORTRAN_COLLECTIVES                                                                                            \
    FORTRAN_CALL(bcast, MPI_Bcast, (BCAST))                                                                            \
    FORTRAN_CALL(allreduce, MPI_Allreduce, (ALLREDUCE))                                                                \
    FORTRAN_CALL(scan, MPI_Scan, (ALLREDUCE))                                                                          \
    FORTRAN_CALL(exscan, MPI_Exscan, (ALLREDUCE))                                                                      \
    FORTRAN_CALL(reduce, MPI_Reduce, (REDUCE))                                                                         \
    FORTRAN_CALL(reduce_scatter_block, MPI_Reduce_scatter_block, (ALLREDUCE))                                          \
    FORTRAN_CALL(reduce_scatter, MPI_Reduce_scatter, (REDUCE_SCATTER))                                                 \
    FORTRAN_CALL(allgather, MPI_Allgather, (ALLGATHER))                                                                \
    FORTRAN_CALL(alltoall, MPI_Alltoall, (ALLGATHER))                                                                  \
    FORTRAN_CALL(gather, MPI_Gather, (GATHER))                                                                         \
    FORTRAN_CALL(scatter, MPI_Scatter, (GATHER))                                                                       \
    FORTRAN_CALL(allgatherv, MPI_Allgatherv, (ALLGATHERV))                                                             \
    FORTRAN_CALL(gatherv, MPI_Gatherv, (GATHERV))                                                                      \
    FORTRAN_CALL(scatterv, MPI_Scatterv, (SCATTERV))                                                                   \
    FORTRAN_CALL(alltoallv, MPI_Alltoallv, (ALLTOALLV))
#endif

#endif
