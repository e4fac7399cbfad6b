/* Samples of calls that ranks begin late, and of several calls in a cadence, for bench.c and jobs.c.
 *
 * The ranks start at a time that rank 0 names. Ranks that share processors sleep until then; other ranks spin.
 *
 * With a director, the process that started the program names each start. Rank 0 prints {"asks":"start"}, and reads the
 * start from standard input: seconds of the monotonic clock of its host. When all calls have ended, it prints
 * {"asks":"end","is_missed":B}. B says whether ranks learnt the start too late: the sample is then repeated. Between the
 * two, links of a lab may be slow or down.
 */
#ifndef HOCKET_SCENE_H
#define HOCKET_SCENE_H

#include <mpi.h>

/* The field that a sample has besides its time; NULL without a scene. "arriving_s": the time from the first to the last
 * arrival. "interval_s": the time between the ends of two calls, in the second half of the calls. */
extern const char *scene_field;
/* Samples differ in their arrivals, which repeat after so many. */
extern int patterns;
/* Whether calls are nonblocking. */
extern int are_nonblocking;

/* A nonblocking call, and its wait. */
int nonblocking_call(void);
/* Nonblocking calls run algorithms only on a communicator on which a blocking call has run one. All ranks call this. */
void prepare_nonblocking(MPI_Comm comm);
/* Reads a scene: none; late:PATTERNS:SECONDS,.. with a time for each rank in each pattern; or
 * cadence:CALLS:SECONDS:AT_A_TIME:COMPUTING:PARTS with the time between two calls, below zero if all are due at once,
 * the largest number of calls that a rank has begun and not ended, and the seconds that it computes during each, in so
 * many parts, 0 if it does not. "director:" before it says that there is a director. */
void read_scene(char *text);
/* Seconds of a call in sample `number`, and of `scene_field`. Late ranks: from the last arrival until the last rank
 * ends. A cadence: the mean of its calls, from when a call is due, or else from when the last rank begins it, until the
 * last rank ends it. */
double scene_sample_s(int number, double *field_s);

/* The start of a sample, on the common clock, and whether this rank has missed it. */
double scene_start_s(int *is_missed);
/* Makes the calls of a sample; the first is due so long after the start. Sets when this rank began its first call and
 * ended its last one, in seconds after the start. */
void make_calls(double start_s, double first_due_s, double span_s[2]);
/* Ends a sample. Returns 1 if it is to be repeated, as a rank missed the start. Ranks that sleep until a start which
 * rank 0 names may miss it. */
int end_scene(int is_missed);

#endif
