/* Fortran functions that call PMPI_* inside MPI and so bypass the C functions: all of them under Open MPI; under MPICH
 * the functions of the module mpi_f08 without a buffer. Functions that wait are among them, so that the nonblocking
 * collectives of such a program are left to MPI. The standard ABI has no Fortran. */
#include "shim/shim.h"

#ifndef MPI_ABI

#include "fortran.h"

#include <stddef.h>

#define FUNCTION(name, parameters, call)                                                                               \
    void name parameters;                                                                                              \
    void name parameters                                                                                               \
    {                                                                                                                  \
        set(error, call);                                                                                              \
    }

#define INIT (MPI_Fint * error), (shim_leave_started(), MPI_Init(NULL, NULL))
#define INIT_THREAD                                                                                                    \
    (MPI_Fint * required, MPI_Fint *provided, MPI_Fint *error),                                                        \
        (shim_leave_started(), MPI_Init_thread(NULL, NULL, *required, provided))
#define FINALIZE (MPI_Fint * error), MPI_Finalize()
#define BARRIER (MPI_Fint * comm, MPI_Fint *error), MPI_Barrier(PMPI_Comm_f2c(*comm))
#define EXPANDED(name, ...) FUNCTION(name, __VA_ARGS__)

EXPANDED(mpi_init_f08_, INIT)
EXPANDED(mpi_init_thread_f08_, INIT_THREAD)
EXPANDED(mpi_finalize_f08_, FINALIZE)
EXPANDED(mpi_barrier_f08_, BARRIER)

#ifdef OPEN_MPI

EXPANDED(mpi_init_, INIT)
EXPANDED(mpi_init_thread_, INIT_THREAD)
EXPANDED(mpi_finalize_, FINALIZE)
EXPANDED(mpi_barrier_, BARRIER)

/* mpi_<name>_ for mpif.h and the module mpi, mpi_<name>_f08_ for the module mpi_f08. Nonblocking collectives are left
 * out: mpi_wait_ of Open MPI would not advance them. */
#define FORTRAN(name, parameters, call)                                                                                \
    FUNCTION(mpi_##name##_, parameters, call)                                                                          \
    FUNCTION(mpi_##name##_f08_, parameters, call)

#define COMM PMPI_Comm_f2c(*comm)
#define TYPE(type) PMPI_Type_f2c(*type)
#define OP PMPI_Op_f2c(*op)
#define REDUCTION (void *send, void *recv, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *comm, MPI_Fint *error)
#define BLOCKS                                                                                                         \
    (void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *recv, MPI_Fint *recv_count, MPI_Fint *recv_type,     \
     MPI_Fint *comm, MPI_Fint *error)
#define ROOTED                                                                                                         \
    (void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *recv, MPI_Fint *recv_count, MPI_Fint *recv_type,     \
     MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error)

#define ALLTOALLV                                                                                                      \
    (void *send, MPI_Fint *send_counts, MPI_Fint *places, MPI_Fint *send_type, void *recv, MPI_Fint *recv_counts,      \
     MPI_Fint *recv_places, MPI_Fint *recv_type, MPI_Fint *comm, MPI_Fint *error)
#define ALLGATHERV                                                                                                     \
    (void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *recv, MPI_Fint *recv_counts, MPI_Fint *places,       \
     MPI_Fint *recv_type, MPI_Fint *comm, MPI_Fint *error)
#define GATHERV                                                                                                        \
    (void *send, MPI_Fint *send_count, MPI_Fint *send_type, void *recv, MPI_Fint *recv_counts, MPI_Fint *places,       \
     MPI_Fint *recv_type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error)
#define SCATTERV                                                                                                       \
    (void *send, MPI_Fint *send_counts, MPI_Fint *places, MPI_Fint *send_type, void *recv, MPI_Fint *recv_count,       \
     MPI_Fint *recv_type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error)

FORTRAN(allreduce, REDUCTION, MPI_Allreduce(address(send), address(recv), *count, TYPE(type), OP, COMM))
FORTRAN(scan, REDUCTION, MPI_Scan(address(send), address(recv), *count, TYPE(type), OP, COMM))
FORTRAN(reduce_scatter_block, REDUCTION,
        MPI_Reduce_scatter_block(address(send), address(recv), *count, TYPE(type), OP, COMM))
FORTRAN(reduce_scatter, REDUCTION, MPI_Reduce_scatter(address(send), address(recv), count, TYPE(type), OP, COMM))
FORTRAN(reduce,
        (void *send, void *recv, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *root, MPI_Fint *comm,
         MPI_Fint *error),
        MPI_Reduce(address(send), address(recv), *count, TYPE(type), OP, *root, COMM))
FORTRAN(bcast, (void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *error),
        MPI_Bcast(address(buffer), *count, TYPE(type), *root, COMM))
FORTRAN(allgather, BLOCKS,
        MPI_Allgather(address(send), *send_count, TYPE(send_type), address(recv), *recv_count, TYPE(recv_type), COMM))
FORTRAN(alltoall, BLOCKS,
        MPI_Alltoall(address(send), *send_count, TYPE(send_type), address(recv), *recv_count, TYPE(recv_type), COMM))
FORTRAN(gather, ROOTED,
        MPI_Gather(address(send), *send_count, TYPE(send_type), address(recv), *recv_count, TYPE(recv_type), *root, COMM))
FORTRAN(scatter, ROOTED,
        MPI_Scatter(address(send), *send_count, TYPE(send_type), address(recv), *recv_count, TYPE(recv_type), *root, COMM))

FORTRAN(exscan, REDUCTION, MPI_Exscan(address(send), address(recv), *count, TYPE(type), OP, COMM))
FORTRAN(alltoallv, ALLTOALLV,
        MPI_Alltoallv(address(send), send_counts, places, TYPE(send_type), address(recv), recv_counts, recv_places,
                      TYPE(recv_type), COMM))
FORTRAN(allgatherv, ALLGATHERV,
        MPI_Allgatherv(address(send), *send_count, TYPE(send_type), address(recv), recv_counts, places,
                       TYPE(recv_type), COMM))
FORTRAN(gatherv, GATHERV,
        MPI_Gatherv(address(send), *send_count, TYPE(send_type), address(recv), recv_counts, places, TYPE(recv_type),
                    *root, COMM))
FORTRAN(scatterv, SCATTERV,
        MPI_Scatterv(address(send), send_counts, places, TYPE(send_type), address(recv), *recv_count, TYPE(recv_type),
                     *root, COMM))
FORTRAN(neighbor_allgather, BLOCKS,
        MPI_Neighbor_allgather(address(send), *send_count, TYPE(send_type), address(recv), *recv_count,
                               TYPE(recv_type), COMM))
FORTRAN(neighbor_alltoall, BLOCKS,
        MPI_Neighbor_alltoall(address(send), *send_count, TYPE(send_type), address(recv), *recv_count,
                              TYPE(recv_type), COMM))
FORTRAN(neighbor_allgatherv, ALLGATHERV,
        MPI_Neighbor_allgatherv(address(send), *send_count, TYPE(send_type), address(recv), recv_counts, places,
                                TYPE(recv_type), COMM))
FORTRAN(neighbor_alltoallv, ALLTOALLV,
        MPI_Neighbor_alltoallv(address(send), send_counts, places, TYPE(send_type), address(recv), recv_counts,
                               recv_places, TYPE(recv_type), COMM))

#endif

#endif
