/* Calls, checks and times collectives under the preloaded library, for bench.c, jobs.c and tune.c.
 *
 * A sample is one call on freshly written data. It begins with a barrier and, if ranks start together, at a time that
 * rank 0 names; the clocks were compared before. It ends when the last rank is done. Without a common start it is the
 * time of the slowest rank.
 */
#ifndef HOCKET_TIMING_H
#define HOCKET_TIMING_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

/* The present call; bench.c, jobs.c and tune.c set it. */
extern const char *collective;
extern int rank, ranks, root;
/* This rank's number in the program, and the number of the program's ranks. */
extern int world_rank, world_ranks;
extern size_t bytes;
/* The communicator of the call, and the communicator of a neighbourhood. */
extern MPI_Comm members, near;
/* For each block received from a neighbour: its source, and its number at the source. */
extern int *sources, *sent_as, neighbors;
/* `input` and `result` have room for `blocks` blocks; `counts` and `places` have one value per rank. */
extern int blocks, *counts, *places;
extern char *input, *result;
extern int starts_together, has_one_clock;
/* Results that `result` has room for: the largest number of calls under way at a time. */
extern int results;
/* Calls that sample_s has made. */
extern long calls_made;

/* Ends the job. */
void fail(const char *what, const char *why);
/* Returns memory of so many bytes, or ends the job. */
void *room(size_t size);
/* Finds the functions of the library and allocates counts and places. If ranks start together, compares the clocks. */
void begin(int are_together);
/* Allocates input and result for a call of `size` bytes. */
void make_buffers(size_t size);
void free_buffers(void);
/* Returns 1 if the collective has this name. */
int is(const char *name);
/* Fills the input with data that `is_right` can check after `call`. */
void fill(void);
int call(void);
/* Begins a nonblocking call, whose result is number `slot`. */
int begin_nonblocking(int slot, MPI_Request *request);
int is_right(void);
void set_rule(const char *rule);
/* Makes one call by `function` under a rule, counts and checks it, and prints it with `number` to `out`. Returns 1 if it
 * was right and ran the rule. */
int prove(FILE *out, const char *rule, int number, int (*function)(void));
/* Rewrites the input: a program has just made its data, so that no other processor holds them. */
void write_input(void);
/* The start of all ranks, on the common clock; rank 0 names it. */
double named_start_s(void);
/* Adapts the lead of the next start. Returns 1 if ranks were late, so that the sample does not count. */
int must_repeat(int is_late);
/* Compares the clocks. Returns 1 if all ranks have the same clock; else they drift: compare them repeatedly. */
int compare_clocks(void);
/* Seconds of one call by `function`. */
double sample_s(int (*function)(void));
/* Prints a text, escaped for a JSON string. */
void print_text(FILE *out, const char *text);
/* Prints times as a member of a JSON object that has one already. */
void print_times(const char *name, const double *times_s, int count);
/* Prints the largest error of the clocks, as a line of JSON. All ranks call this. */
void print_clock_error(void);

#endif
