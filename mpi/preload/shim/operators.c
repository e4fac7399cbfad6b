/* Operators that the program frees while calls need them. A later MPI_Op_free, or the end, frees them in MPI. */
#include <stdlib.h>

#include "persistent.h"
#include "started_calls.h"

/* Guarded by the lock of the calls under way. */
static MPI_Op *freed_operators;
static int freed_count;

static int is_needed(MPI_Op op)
{
    return is_reducing(op) || is_planned(op);
}

static void free_unneeded(void)
{
    int remaining = 0;
    for (int i = 0; i < freed_count; i++)
        if (is_needed(freed_operators[i]))
            freed_operators[remaining++] = freed_operators[i];
        else
            PMPI_Op_free(&freed_operators[i]);
    freed_count = remaining;
}

int shim_free_op(MPI_Op *op)
{
    pthread_mutex_lock(&active_lock);
    free_unneeded();
    if (!op || *op == MPI_OP_NULL || !is_needed(*op)) {
        pthread_mutex_unlock(&active_lock);
        return PMPI_Op_free(op);
    }
    freed_operators = resize(freed_operators, sizeof(MPI_Op) * (size_t)(freed_count + 1));
    freed_operators[freed_count++] = *op;
    *op = MPI_OP_NULL;
    pthread_mutex_unlock(&active_lock);
    return MPI_SUCCESS;
}

void end_operators(void)
{
    pthread_mutex_lock(&active_lock);
    free_unneeded();
    pthread_mutex_unlock(&active_lock);
}
