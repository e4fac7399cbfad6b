/* Waiting while nonblocking collectives may be under way. */
#ifndef HOCKET_WAIT_H
#define HOCKET_WAIT_H

#include "shim/shim.h"

/* Calls `test` until it sets `flag`; calls `direct` once no nonblocking collective can be under way. */
#define WAIT(direct, test)                                                                                             \
    do {                                                                                                               \
        int flag = 0, code = MPI_SUCCESS;                                                                              \
        while (!flag && code == MPI_SUCCESS) {                                                                         \
            if (!shim_polls())                                                                                         \
                return direct;                                                                                         \
            shim_progress();                                                                                           \
            code = test;                                                                                               \
        }                                                                                                              \
        return code;                                                                                                   \
    } while (0)

#endif
