/* Prints the ABI of an MPI's programs, by its name in mpi_products.py, and the MPI's own name. */
#include <stdio.h>

#include "abi.h"

int main(void)
{
    static const char *const names[] = {"", "mpich", "openmpi", "standard"};
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    puts(names[BUILT_ABI]);
    puts(text);
    return 0;
}
