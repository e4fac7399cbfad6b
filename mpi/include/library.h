/* Checks that a library runs under the MPI that it was compiled for. Handles differ between two MPIs, and between the
 * two ABIs of one MPI, which have the same version string. */
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

/* Missing before version 5 of the MPI standard. */
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

/* Returns 1 if another rank of this launcher reports the mismatch: it holds a socket name until its process ends. */
static inline int is_told(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "hocket-library-%d", (int)getppid());
    int holder = socket(AF_UNIX, SOCK_DGRAM, 0);
    return bind(holder, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + length) && errno == EADDRINUSE;
}

/* Ends the program if it runs under another MPI; called before MPI is initialised. */
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
            "hocket: the library is built for \"%s\" with %s, but the program runs under \"%s\" with %s, expected "
            "--mpicc with the wrapper that compiled the program\n",
            HOCKET_MPI_LIBRARY, abi_name(HAS_STANDARD_ABI), library, abi_name(by_standard_abi));
    sleep(1); /* other ranks call is_told meanwhile */
    exit(2);
}

#endif
