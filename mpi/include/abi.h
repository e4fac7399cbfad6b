/* The ABI of an MPI's programs, by its header. */
#ifndef HOCKET_ABI_H
#define HOCKET_ABI_H

#include <mpi.h>

enum abi { OWN_ABI, MPICH_ABI, OPEN_MPI_ABI, STANDARD_ABI };

#if defined MPI_ABI_VERSION && MPI_ABI_VERSION > 0
enum { BUILT_ABI = STANDARD_ABI };
#elif defined OPEN_MPI
enum { BUILT_ABI = OPEN_MPI_ABI };
#elif defined MPICH_VERSION || defined I_MPI_VERSION || defined MVAPICH2_VERSION
enum { BUILT_ABI = MPICH_ABI };
#else
enum { BUILT_ABI = OWN_ABI };
#endif

#endif
