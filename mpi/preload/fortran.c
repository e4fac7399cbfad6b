/* Fortran functions that call PMPI_* inside MPI and so bypass the C functions: all of them under Open MPI; under MPICH
 * the functions of the module mpi_f08 without a buffer. Functions that wait are among them, so that the nonblocking
 * collectives of such a program are left to MPI. The standard ABI has no Fortran. */
#include "shim/shim.h"

#ifndef MPI_ABI

#include "fortran.h"

#include <stddef.h>

FORTRAN_BEGIN_AND_END(shim_leave_started())

#ifdef OPEN_MPI
/* Nonblocking collectives are left out: mpi_wait_ of Open MPI would not advance them. */
FORTRAN_COLLECTIVES
FORTRAN_CALL(neighbor_allgather, MPI_Neighbor_allgather, (ALLGATHER))
FORTRAN_CALL(neighbor_alltoall, MPI_Neighbor_alltoall, (ALLGATHER))
FORTRAN_CALL(neighbor_allgatherv, MPI_Neighbor_allgatherv, (ALLGATHERV))
FORTRAN_CALL(neighbor_alltoallv, MPI_Neighbor_alltoallv, (ALLTOALLV))

#endif

#endif
