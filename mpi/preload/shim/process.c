/* The settings of the process, and helpers of all parts. It depends on no other part. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

struct shim shim;

void print_line(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *end = line; (end = strpbrk(end, "\r\n"));)
        *end = ' ';
    fprintf(stderr, "hocket: %s\n", line);
}

void *resize(void *memory, size_t bytes)
{
    void *resize = realloc(memory, bytes ? bytes : 1);
    if (!resize) {
        print_line("out of memory: %zu bytes requested", bytes);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    return resize;
}

void note_idle_rules(void)
{
    if (!shim.is_ready || shim.off || (!has_rule(HOCKET_ANY, 0) && !has_rule(HOCKET_ANY, 1)))
        __atomic_store_n(&shim.idle_rules, __atomic_load_n(&hocket_rules, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void *shim_room(size_t bytes)
{
    return resize(NULL, bytes);
}
