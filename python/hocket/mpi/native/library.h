/* The check that a library runs under the MPI that it was compiled for: the handles of two MPIs differ. */
#ifndef HOCKET_LIBRARY_H
#define HOCKET_LIBRARY_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_library(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = 0;
    if (strncmp(library, HOCKET_MPI_LIBRARY, strlen(HOCKET_MPI_LIBRARY)) == 0)
        return;
    fprintf(stderr, "hocket: built for \"%s\", but the program runs under \"%s\": run `hocket mpi build` with its mpicc\n",
            HOCKET_MPI_LIBRARY, library);
    exit(2);
}

#endif
