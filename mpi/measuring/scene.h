/* Samples of calls that ranks begin late, and of several calls in a cadence, for bench.c.
 *
 * The ranks start at a time that rank 0 names. Ranks that share processors sleep until then; other ranks spin.
 */
#ifndef HOCKET_SCENE_H
#define HOCKET_SCENE_H

/* What a sample has beside its time; NULL without a scene. "arriving_s": the time from the first to the last arrival.
 * "interval_s": the time between the ends of two calls, in the second half of the calls. */
extern const char *beside;
/* Samples differ in their arrivals, which repeat after so many. */
extern int patterns;
/* Whether calls are nonblocking. */
extern int are_nonblocking;

/* A nonblocking call, and its wait. */
int nonblocking_call(void);
/* Reads a scene: none; late:PATTERNS:SECONDS,.. with a time for each rank in each pattern; or
 * cadence:CALLS:SECONDS:AT_A_TIME:COMPUTING:PARTS with the time between two calls, below zero if all are due at once,
 * the largest number of calls that a rank has begun and not ended, and the seconds that it computes beside each, in so
 * many parts, 0 if it does not. */
void read_scene(char *text);
/* Seconds of a call in sample `number`, and what is beside it. Late ranks: from the last arrival until the last rank
 * ends. A cadence: the mean of its calls, from when a call is due, or else from when the last rank begins it, until the
 * last rank ends it. */
double scene_sample_s(int number, double *beside_s);

#endif
