/* The log: calls are counted in each process, printed as HOCKET_LOG asks, and gathered to a file of the job as HOCKET_JOB_LOG asks. */
#ifndef HOCKET_SHIM_LOG_H
#define HOCKET_SHIM_LOG_H

#include "transport.h"

#pragma GCC visibility push(hidden)

/* Reads HOCKET_LOG. What is wrong with it is a problem. */
void read_log(char *problem, size_t room);
/* Reads HOCKET_JOB_LOG; all ranks of MPI_COMM_WORLD call it. What is wrong with it is told by rank 0, and there is no log. */
void begin_job_log(void);
/* Writes the log of the job; all ranks of MPI_COMM_WORLD call it. */
void end_job_log(void);
/* Prints the summary, once. */
void print_summary(void);

/* Logs a call that is left to MPI, before it is made. Blocking ones are counted by log_left. */
void log_passed(const struct call *call);
/* Counts a blocking call that was left to MPI, after it was made. */
void log_left(const struct call *call);
/* Prints one line about a call that was wrong: its error, or, once per process, what was wrong if MPI reports no error. */
void tell_wrong(const struct call *call);
/* Logs an operation that has ended. */
void log_ran(const struct operation *operation);

#pragma GCC visibility pop

#endif
