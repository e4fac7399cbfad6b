#include "together.h"

#include <math.h>
#include "clock.h"

enum { CLOCK_TRIPS = 100 };
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
    double trip_s, own_s = measured_offset_s(MPI_COMM_WORLD, rank, other, CLOCK_TRIPS, &trip_s);
    if (rank == 0)
        return;
    clock_error_s = trip_s / 2;
    offset_s = fabs(own_s) <= ONE_CLOCK_S ? 0 : own_s;
}

int wait_until(double time_s)
{
    int is_late = common_s() > time_s;
    while (common_s() < time_s)
        ;
    return is_late;
}
