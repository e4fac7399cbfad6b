/* Checks that a library runs under an MPI with the ABI that it was compiled for, in a job of as many ranks as Hocket has
 * asked for. Handles differ between ABIs. */
#ifndef HOCKET_LIBRARY_H
#define HOCKET_LIBRARY_H

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi.h"

/* Missing before version 5 of the MPI standard. */
int PMPI_Abi_get_version(int *major, int *minor) __attribute__((weak));

static inline const char *abi_name(int abi)
{
    return ((const char *[]){"its own ABI", "MPICH's ABI", "Open MPI's ABI", "the standard ABI"})[abi];
}

/* Returns the ABI of the MPI that runs, by a symbol that programs of this ABI use. */
static inline int running_abi(void)
{
    int major = -1, minor = -1;
    if (PMPI_Abi_get_version)
        PMPI_Abi_get_version(&major, &minor);
    if (major > 0)
        return STANDARD_ABI;
    Dl_info about = {0};
    dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_library_version"), &about);
    void *library = about.dli_fname ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    int is_open_mpi = library && dlsym(library, "ompi_mpi_comm_world");
    int is_mpich = library && dlsym(library, "MPIR_Dup_fn");
    if (library)
        dlclose(library);
    return is_open_mpi ? OPEN_MPI_ABI : is_mpich ? MPICH_ABI : OWN_ABI;
}

/* Returns 1 if another rank of this launcher reports the problem: it holds a socket name until its process ends. */
static inline int is_told(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "hocket-library-%d", (int)getppid());
    int holder = socket(AF_UNIX, SOCK_DGRAM, 0);
    return bind(holder, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + length) && errno == EADDRINUSE;
}

/* Ends the program, and prints why unless this rank is silent or another rank of its node prints it in this second. */
#define END_PROGRAM(is_silent, ...)                                                                                    \
    do {                                                                                                               \
        if (!(is_silent) && !is_told())                                                                                \
            fprintf(stderr, "hocket: " __VA_ARGS__);                                                                   \
        sleep(1);                                                                                                      \
        exit(2);                                                                                                       \
    } while (0)

/* Ends the program if it runs under an MPI of another ABI, or without the functions of MPI 4 that the library calls;
 * called before MPI is initialised. */
static inline void check_library(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, version, subversion, abi = running_abi();
    PMPI_Get_version(&version, &subversion);
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = 0;
    if (abi == (int)BUILT_ABI && (abi != OWN_ABI || strcmp(library, HOCKET_MPI_LIBRARY) == 0)) {
        if (MPI_VERSION < 4 || version >= 4)
            return;
        END_PROGRAM(0,
                    "the library is built for MPI %d.%d, but the program runs under \"%s\" with MPI %d.%d, expected --mpicc "
                    "with a wrapper of an MPI %d\n",
                    MPI_VERSION, MPI_SUBVERSION, library, version, subversion, version);
    }
    END_PROGRAM(0,
                "the library is built for \"%s\" with %s, but the program runs under \"%s\" with %s, expected --mpicc "
                "with the wrapper that compiled the program\n",
                HOCKET_MPI_LIBRARY, abi_name(BUILT_ABI), library, abi_name(abi));
}

/* Whether the launcher numbers this process as another than the first; a job of one rank does not know. */
static inline int is_later(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "FLUX_TASK_RANK"};
    int rank, is = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++)
        is |= getenv(names[i]) && atoi(getenv(names[i])) > 0;
    return is || rank > 0;
}

/* Ends the program if its job has fewer ranks than HOCKET_RANKS; called after MPI is initialised. A job that the program
 * itself starts has a number of its own. */
static inline void check_ranks(void)
{
    MPI_Comm parent;
    const char *value = getenv("HOCKET_RANKS");
    int ranks, expected = value ? atoi(value) : 0;
    unsetenv("HOCKET_RANKS");
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Comm_get_parent(&parent);
    if (ranks >= expected || parent != MPI_COMM_NULL)
        return;
    int is_silent = is_later();
    PMPI_Finalize();
    END_PROGRAM(is_silent, "the launcher started a job of %d rank%s, expected one of %d%s; see --launcher\n", ranks,
                ranks == 1 ? "" : "s", expected, ranks == 1 ? ": it may not know this MPI, and start each rank alone" : "");
}

/* Defines MPI_Init and MPI_Init_thread: each checks the library before MPI's own function, and the ranks after it. */
#define DEFINE_INIT(before, after)                                                                                     \
    INIT_FUNCTION(before, after, Init, (int *argc, char ***argv), (argc, argv))                                        \
    INIT_FUNCTION(before, after, Init_thread, (int *argc, char ***argv, int required, int *provided),                  \
                  (argc, argv, required, provided))
#define INIT_FUNCTION(before, after, name, parameters, arguments)                                                      \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        check_library();                                                                                               \
        before;                                                                                                        \
        int code = PMPI_##name arguments;                                                                              \
        if (code == MPI_SUCCESS) {                                                                                     \
            check_ranks();                                                                                             \
            after;                                                                                                     \
        }                                                                                                              \
        return code;                                                                                                   \
    }

#endif
