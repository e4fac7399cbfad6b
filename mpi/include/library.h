/* The check that a library runs under the MPI that it was compiled for: the handles of two MPIs differ, and so do those of
 * the two ABIs of one MPI, which has one version. */
#ifndef HOCKET_LIBRARY_H
#define HOCKET_LIBRARY_H

#include <errno.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* MPIs before version 5 of the standard do not have it. */
int PMPI_Abi_get_version(int *major, int *minor) __attribute__((weak));

#if defined MPI_ABI_VERSION && MPI_ABI_VERSION > 0
enum { HAS_STANDARD_ABI = 1 };
#else
enum { HAS_STANDARD_ABI = 0 };
#endif

static inline const char *abi_name(int is_standard)
{
    return is_standard ? "the standard ABI" : "its own ABI";
}

static inline int runs_by_standard_abi(void)
{
    int major = -1, minor = -1;
    if (PMPI_Abi_get_version)
        PMPI_Abi_get_version(&major, &minor);
    return major > 0;
}

/* Whether another rank that the same launcher started here tells already: it holds a name that nothing is left of. */
static inline int is_told(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "hocket-library-%d", (int)getppid());
    int holder = socket(AF_UNIX, SOCK_DGRAM, 0);
    return bind(holder, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + length) && errno == EADDRINUSE;
}

/* Ends the program unless it runs under that MPI; called before MPI is initialised. */
static inline void check_library(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, by_standard_abi = runs_by_standard_abi();
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = 0;
    if (strncmp(library, HOCKET_MPI_LIBRARY, strlen(HOCKET_MPI_LIBRARY)) == 0 && by_standard_abi == HAS_STANDARD_ABI)
        return;
    if (is_told())
        exit(2);
    fprintf(stderr,
            "hocket: built for \"%s\" by %s, but the program runs under \"%s\" by %s: name the wrapper that compiled it, "
            "as --mpicc, or for `hocket mpi install`\n",
            HOCKET_MPI_LIBRARY, abi_name(HAS_STANDARD_ABI), library, abi_name(by_standard_abi));
    sleep(1); /* until the other ranks have asked */
    exit(2);
}

#endif
