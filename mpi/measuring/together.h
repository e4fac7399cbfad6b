/* Ranks that begin at the same time, by the clock of rank 0. */
#ifndef HOCKET_TOGETHER_H
#define HOCKET_TOGETHER_H

#define FIRST_LEAD_S 5e-6

/* How far the clock of this rank is ahead of the clock of rank 0. */
extern double offset_s;
/* How long before the start rank 0 names it. */
extern double lead_s;

/* The time by the clock of rank 0. */
double common_s(void);
/* Compares the clock of rank `other` with the clock of rank 0: the middle of the shortest of many round trips. Both call it. */
void compare_clock(int rank, int other);
/* Waits for a time; returns 1 if it has passed before. */
int wait_until(double time_s);

#endif
