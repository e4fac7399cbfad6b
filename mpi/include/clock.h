/* Comparing the clocks of two ranks. */
#ifndef HOCKET_CLOCK_H
#define HOCKET_CLOCK_H

#include <mpi.h>
#include <stddef.h>

enum { CLOCK_TAG = 77 };

/* Returns the clock of this rank minus the clock of rank 0, at the middle of the shortest of so many round trips between
 * ranks `other` and 0, which both call this. Sets the time of that trip. Rank 0 gets 0. */
static inline double measured_offset_s(MPI_Comm comm, int rank, int other, int trips, double *shortest_s)
{
    double offset_s = 0, there_s;
    *shortest_s = 1e300;
    for (int i = 0; i < trips; i++) {
        if (rank == 0) {
            PMPI_Recv(NULL, 0, MPI_BYTE, other, CLOCK_TAG, comm, MPI_STATUS_IGNORE);
            there_s = PMPI_Wtime();
            PMPI_Send(&there_s, 1, MPI_DOUBLE, other, CLOCK_TAG, comm);
            continue;
        }
        double before_s = PMPI_Wtime();
        PMPI_Send(NULL, 0, MPI_BYTE, 0, CLOCK_TAG, comm);
        PMPI_Recv(&there_s, 1, MPI_DOUBLE, 0, CLOCK_TAG, comm, MPI_STATUS_IGNORE);
        double after_s = PMPI_Wtime();
        if (after_s - before_s < *shortest_s) {
            *shortest_s = after_s - before_s;
            offset_s = (before_s + after_s) / 2 - there_s;
        }
    }
    return offset_s;
}

#endif
