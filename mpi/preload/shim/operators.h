/* Operators that the program has freed. */
#ifndef HOCKET_SHIM_OPERATORS_H
#define HOCKET_SHIM_OPERATORS_H

#pragma GCC visibility push(hidden)

/* Frees the remaining operators, after all calls have ended. */
void end_operators(void);

#pragma GCC visibility pop

#endif
