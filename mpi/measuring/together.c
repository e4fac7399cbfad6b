#include "together.h"

#include <math.h>
#include <mpi.h>
#include <stddef.h>

enum { CLOCK_TRIPS = 100, CLOCK_TAG = 77 };
/* Clocks at most this far apart count as one clock. */
#define ONE_CLOCK_S 1e-6

double offset_s, clock_error_s;
double lead_s = FIRST_LEAD_S;

double common_s(void)
{
    return PMPI_Wtime() - offset_s;
}

void compare_clock(int rank, int other)
{
    double shortest_s = INFINITY, there_s;
    for (int i = 0; i < CLOCK_TRIPS; i++) {
        if (rank == 0) {
            PMPI_Recv(NULL, 0, MPI_BYTE, other, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            there_s = PMPI_Wtime();
            PMPI_Send(&there_s, 1, MPI_DOUBLE, other, CLOCK_TAG, MPI_COMM_WORLD);
            continue;
        }
        double before_s = PMPI_Wtime();
        PMPI_Send(NULL, 0, MPI_BYTE, 0, CLOCK_TAG, MPI_COMM_WORLD);
        PMPI_Recv(&there_s, 1, MPI_DOUBLE, 0, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double after_s = PMPI_Wtime();
        if (after_s - before_s < shortest_s) {
            shortest_s = after_s - before_s;
            offset_s = (before_s + after_s) / 2 - there_s;
        }
    }
    if (rank != 0)
        clock_error_s = shortest_s / 2;
    if (fabs(offset_s) <= ONE_CLOCK_S)
        offset_s = 0;
}

int wait_until(double time_s)
{
    int is_late = common_s() > time_s;
    while (common_s() < time_s)
        ;
    return is_late;
}
