/* Operators that the program frees while calls need them. A later MPI_Op_free, or the end, frees them in MPI. */
#include "operators.h"

#include <stdlib.h>

#include "persistent.h"
#include "started.h"

/* Guarded by the lock of the calls under way. */
static MPI_Op *freed;
static int freed_count;

static int is_needed(MPI_Op op)
{
    return is_reducing(op) || is_planned(op);
}

static void free_unneeded(void)
{
    int kept = 0;
    for (int i = 0; i < freed_count; i++)
        if (is_needed(freed[i]))
            freed[kept++] = freed[i];
        else
            PMPI_Op_free(&freed[i]);
    freed_count = kept;
}

int shim_free_op(MPI_Op *op)
{
    lock_active();
    free_unneeded();
    if (!op || *op == MPI_OP_NULL || !is_needed(*op)) {
        unlock_active();
        return PMPI_Op_free(op);
    }
    freed = grown(freed, sizeof(MPI_Op) * (size_t)(freed_count + 1));
    freed[freed_count++] = *op;
    *op = MPI_OP_NULL;
    unlock_active();
    return MPI_SUCCESS;
}

void end_operators(void)
{
    lock_active();
    free_unneeded();
    unlock_active();
}
