/* Ranks that begin at the same time, by the clock of rank 0. */
#ifndef HOCKET_TOGETHER_H
#define HOCKET_TOGETHER_H

#define FIRST_LEAD_S 5e-6

/* Clock of this rank minus the clock of rank 0. */
extern double offset_s;
/* The largest error of the offset: half of the shortest round trip. */
extern double clock_error_s;
/* Rank 0 names a start this long before it. */
extern double lead_s;

/* The present time of the clock of rank 0. */
double common_s(void);
/* Compares the clocks of ranks `other` and 0, at the middle of the shortest of many round trips. Both call it. */
void compare_clock(int rank, int other);
/* Waits until a time; returns 1 if it had passed already. */
int wait_until(double time_s);

#endif
