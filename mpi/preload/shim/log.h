/* The log: each process counts its calls. HOCKET_LOG prints the counts; HOCKET_JOB_LOG gathers them into a file. */
#ifndef HOCKET_SHIM_LOG_H
#define HOCKET_SHIM_LOG_H

#include "transport.h"

#pragma GCC visibility push(hidden)

/* Reads HOCKET_LOG; writes an error to `problem`. */
void read_log(char *problem, size_t room);
/* Reads HOCKET_JOB_LOG, on rank 0; returns 1 if the job has a log. On an error, prints a line and returns 0. */
int has_job_log(void);
/* Notes when the job begins. */
void begin_job_log(void);
/* Writes the log of the job; all ranks of MPI_COMM_WORLD call it. */
void end_job_log(void);
/* Prints the summary, at most once. */
void print_summary(void);

/* Logs a call that is left to MPI, before MPI runs it. log_left counts blocking calls. */
void log_passed(const struct call *call);
/* Counts a blocking call after MPI has run it. */
void log_left(const struct call *call);
/* Prints one line about a wrong call: its error. If MPI reports no error, prints what was wrong, once per process. */
void tell_wrong(const struct call *call);
/* Logs an operation that has ended. */
void log_ran(const struct operation *operation);

#pragma GCC visibility pop

#endif
