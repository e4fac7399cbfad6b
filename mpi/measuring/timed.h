/* Collectives that are called, checked and timed under the library that is preloaded: what bench.c and tune.c share.
 *
 * A sample is one call, of data that was just written; it begins with a barrier, and, if ranks start together, at a time that
 * rank 0 names, by clocks that are compared before. It ends when the last rank is done; without a common clock it is the time of
 * the rank that took longest.
 */
#ifndef HOCKET_TIMED_H
#define HOCKET_TIMED_H

#include <mpi.h>
#include <stddef.h>

/* The call: what bench.c and tune.c say of it. */
extern const char *collective;
extern int rank, ranks, root;
extern size_t bytes;
/* Where it is made, and the communicator of a neighbourhood. */
extern MPI_Comm members, near;
/* Of each block that is received from a neighbour its source, and its number there. */
extern int *sources, *sent_as, neighbors;
/* The blocks that `input` and `result` have room for; `counts` and `places` are those of the ranks. */
extern int blocks, *counts, *places;
extern char *input, *result;
extern int starts_together, has_one_clock;
/* Counted by `sample_s`. */
extern long calls_made;

/* Ends the job. */
void fail(const char *what, const char *why);
/* What the library offers, and room for counts and places; the clocks are compared if ranks start together. */
void begin(int are_together);
/* Room for a call of a size. */
void make_buffers(size_t size);
void free_buffers(void);
/* Whether this is the name of the collective. */
int is(const char *name);
/* Fills the input with data that `is_right` checks after `call`. */
void fill(void);
int call(void);
int is_right(void);
void set_rule(const char *rule);
/* Makes one call by a rule, counts, checks and prints it by a number; returns 1 if the rule's algorithm ran. */
int prove(const char *rule, int number);
/* Whether the clocks of all ranks are one; if not, they drift, and are compared again and again. */
int compare_clocks(void);
/* Times a call of `called`. */
double sample_s(int (*called)(void));
/* Prints a text as JSON has it. */
void print_text(const char *text);

#endif
