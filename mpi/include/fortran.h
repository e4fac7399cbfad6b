/* Converts arguments of Fortran functions to C. */
#ifndef HOCKET_FORTRAN_H
#define HOCKET_FORTRAN_H

#include <mpi.h>

static inline void set(MPI_Fint *error, int code)
{
    if (error) /* optional in mpi_f08 */
        *error = (MPI_Fint)code;
}

#ifdef OPEN_MPI
/* In Fortran, MPI_IN_PLACE and MPI_BOTTOM are addresses of these variables. */
extern int mpi_fortran_in_place_ __attribute__((weak));
extern int mpi_fortran_bottom_ __attribute__((weak));

static inline void *address(void *pointer)
{
    if (&mpi_fortran_in_place_ && pointer == (void *)&mpi_fortran_in_place_)
        return MPI_IN_PLACE;
    if (&mpi_fortran_bottom_ && pointer == (void *)&mpi_fortran_bottom_)
        return MPI_BOTTOM;
    return pointer;
}
#endif

#endif
