/* Finds out whether the library is preloaded on all ranks, in a way that never waits for a rank without it. */
#ifndef HOCKET_SHIM_PRESENCE_H
#define HOCKET_SHIM_PRESENCE_H

#pragma GCC visibility push(hidden)

/* Returns 1 if all ranks have the library, else prints a line. Ends the job if ranks of other nodes cannot be told. All
 * ranks with the library call it after MPI is initialised. */
int are_all_present(void);
/* Called once all ranks have passed are_all_present. */
void end_presence(void);

#pragma GCC visibility pop

#endif
