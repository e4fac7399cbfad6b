/* Data types. This file owns the communicator on which MPI checks types and operators, and per thread the shape of the
 * last type. */
#include "types.h"

#include "envelope.h"

/* A copy of MPI_COMM_SELF that returns errors. */
static MPI_Comm judge;
static pthread_mutex_t judge_lock = PTHREAD_MUTEX_INITIALIZER;

void begin_types(void)
{
    PMPI_Comm_dup(MPI_COMM_SELF, &judge);
    PMPI_Comm_set_errhandler(judge, MPI_ERRORS_RETURN);
}

void end_types(void)
{
    PMPI_Comm_free(&judge);
}

THREAD_OWNED struct shape last_shape = {.type = MPI_DATATYPE_NULL};

const struct shape *shape_of(MPI_Datatype type)
{
    MPI_Count size, lower, extent, true_lower, true_extent;
    if (last_shape.is_named && last_shape.type == type)
        return &last_shape;
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent_x(type, &lower, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
    int has_gaps = size != extent || true_lower != 0 || true_extent != size;
    last_shape = (struct shape){type, is_named(type), !has_gaps && is_flat(type), (size_t)size,
                          {(ptrdiff_t)extent, (ptrdiff_t)true_lower, (size_t)true_extent}};
    return &last_shape;
}

struct view shim_piece(const struct pieces *pieces, void *address, int number)
{
    const void *counts = pieces->counts, *places = pieces->places;
    MPI_Count count = pieces->has_large_counts ? ((const MPI_Count *)counts)[number] : ((const int *)counts)[number];
    MPI_Aint place = !places                   ? 0
                     : pieces->has_large_places ? ((const MPI_Aint *)places)[number]
                                                : ((const int *)places)[number];
    MPI_Datatype type = pieces->types ? pieces->types[number] : pieces->type;
    int has_steps = count != 0 && !pieces->types && type != MPI_DATATYPE_NULL;
    ptrdiff_t step = has_steps ? shape_of(type)->layout.extent : 1;
    return (struct view){(char *)address + place * step, (size_t)count, type, 0};
}

/* The error code of MPI for a type and an operator (or MPI_OP_NULL), from calls that touch no element. */
static int code_of(MPI_Datatype type, MPI_Op op)
{
    THREAD_CACHE struct {
        int is_set;
        MPI_Datatype type;
        MPI_Op op;
    } last;
    int code;
    if (last.is_set && last.type == type && last.op == op)
        return MPI_SUCCESS;
    if (op == MPI_OP_NULL) {
        code = PMPI_Send(&last, 1, type, MPI_PROC_NULL, 0, judge);
    } else {
        lock(&judge_lock);
        code = PMPI_Allreduce(MPI_IN_PLACE, NULL, 0, type, op, judge);
        unlock(&judge_lock);
    }
    if (code == MPI_SUCCESS && shape_of(type)->is_named) {
        last.is_set = 1;
        last.type = type;
        last.op = op;
    }
    return code;
}

int shim_error_of(MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int class = MPI_SUCCESS;
    if (count < 0)
        return MPI_ERR_COUNT;
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    int code = shim.is_ready ? code_of(type, op) : MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        PMPI_Error_class(code, &class);
    return class;
}

/* No data can lie below this address. */
enum { LEAST_ADDRESS = 4096 };

int shim_is_memory(const void *address, MPI_Datatype type)
{
    const struct shape *shape = shape_of(type);
    return !shape->bytes || (uintptr_t)address + (uintptr_t)shape->layout.true_lower_bound >= LEAST_ADDRESS;
}
