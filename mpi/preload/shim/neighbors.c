/* Neighbours. This file asks MPI for the neighbours of a rank, and describes them for libhocket. */
#include <stdlib.h>
#include <string.h>

#include "communicator.h"

/* Allocates `sent` and `received` neighbours, and a grid of `dimensions`. */
static struct neighbors *room_for(int sent, int received, int dimensions)
{
    size_t all = (size_t)sent + (size_t)received, grid = (size_t)dimensions * ((size_t)sent + 1);
    struct neighbors *neighbors = shim_room(sizeof *neighbors);
    int32_t *numbers = shim_room(sizeof *numbers * (all + grid + 1));
    size_t *bytes = shim_room(sizeof *bytes * (all + 1));
    *neighbors = (struct neighbors){.to_bytes = bytes,
                                    .from_bytes = bytes + sent,
                                    .destinations = numbers,
                                    .sources = numbers + sent,
                                    .sizes = numbers + all,
                                    .offsets = numbers + all + dimensions};
    neighbors->graph = (hocket_neighbors){.sent = sent,
                                          .received = received,
                                          .destinations = neighbors->destinations,
                                          .sources = neighbors->sources,
                                          .sizes = neighbors->sizes,
                                          .offsets = neighbors->offsets};
    return neighbors;
}

/* A grid, and the place of a rank. `is_periodic`: its borders meet in all dimensions (1), none (0) or some (-1). */
struct grid {
    int dimensions, is_periodic;
    int *sizes, *periods, *place;
};

/* The caller frees `sizes`, which owns all arrays. */
static struct grid grid_of(MPI_Comm comm)
{
    struct grid grid;
    int periodic = 0;
    PMPI_Cartdim_get(comm, &grid.dimensions);
    grid.sizes = shim_room(sizeof(int) * (3 * (size_t)grid.dimensions + 1));
    grid.periods = grid.sizes + grid.dimensions;
    grid.place = grid.periods + grid.dimensions;
    PMPI_Cart_get(comm, grid.dimensions, grid.sizes, grid.periods, grid.place);
    for (int i = 0; i < grid.dimensions; i++)
        periodic += grid.periods[i] != 0;
    grid.is_periodic = periodic == grid.dimensions ? 1 : periodic == 0 ? 0 : -1;
    return grid;
}

/* Records that all ranks have their neighbours at the same relative places of a grid. */
static void set_grid(struct neighbors *neighbors, const struct grid *grid)
{
    neighbors->graph.dimensions = grid->dimensions;
    neighbors->graph.is_periodic = grid->is_periodic;
    for (int i = 0; i < grid->dimensions; i++)
        neighbors->sizes[i] = grid->sizes[i];
}

static struct neighbors *on_grid(MPI_Comm comm)
{
    struct grid grid = grid_of(comm);
    int count = 2 * grid.dimensions;
    struct neighbors *neighbors = room_for(count, count, grid.dimensions);
    neighbors->graph.is_cartesian = neighbors->is_joined = 1;
    for (int i = 0; i < count; i++) {
        int ranks[2];
        PMPI_Cart_shift(comm, i / 2, 1, &ranks[0], &ranks[1]);
        neighbors->destinations[i] = neighbors->sources[i] = ranks[i % 2] == MPI_PROC_NULL ? HOCKET_NO_RANK : ranks[i % 2];
        for (int j = 0; j < grid.dimensions; j++)
            neighbors->offsets[i * grid.dimensions + j] = j != i / 2 ? 0 : i % 2 ? 1 : -1;
    }
    if (grid.is_periodic >= 0)
        set_grid(neighbors, &grid);
    free(grid.sizes);
    return neighbors;
}

static struct neighbors *on_graph(MPI_Comm comm)
{
    int rank, count;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &count);
    struct neighbors *neighbors = room_for(count, count, 0);
    PMPI_Graph_neighbors(comm, rank, count, neighbors->destinations);
    for (int i = 0; i < count; i++)
        neighbors->sources[i] = neighbors->destinations[i];
    return neighbors;
}

static struct neighbors *on_distributed_graph(MPI_Comm comm, int dimensions)
{
    int received, sent, has_weights;
    PMPI_Dist_graph_neighbors_count(comm, &received, &sent, &has_weights);
    struct neighbors *neighbors = room_for(sent, received, dimensions);
    int *weights = has_weights ? shim_room(sizeof *weights * ((size_t)sent + (size_t)received + 1)) : NULL;
    PMPI_Dist_graph_neighbors(comm, received, neighbors->sources, weights ? weights : MPI_UNWEIGHTED, sent,
                              neighbors->destinations, weights ? weights + received : MPI_UNWEIGHTED);
    free(weights);
    return neighbors;
}

/* The kind of a topology. */
static int kind_of(MPI_Comm comm)
{
    int kind;
    PMPI_Topo_test(comm, &kind);
#ifdef OPEN_MPI /* reports a distributed graph with the kind of its parent communicator */
    MPI_Errhandler handler;
    int received, sent, has_weights;
    if (kind == MPI_UNDEFINED)
        return kind;
    PMPI_Comm_get_errhandler(comm, &handler);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (PMPI_Dist_graph_neighbors_count(comm, &received, &sent, &has_weights) == MPI_SUCCESS)
        kind = MPI_DIST_GRAPH;
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
#endif
    return kind;
}

/* The neighbours of this rank; NULL if the communicator has no topology. */
static struct neighbors *new_neighbors(MPI_Comm comm)
{
    int kind = kind_of(comm);
    return kind == MPI_CART         ? on_grid(comm)
           : kind == MPI_GRAPH      ? on_graph(comm)
           : kind == MPI_DIST_GRAPH ? on_distributed_graph(comm, 0)
                                    : NULL;
}

struct neighbors *shim_neighbors(const struct call *call)
{
    int is_taken = shim.is_ready && !shim.off && has_rule(call->asked.collective, call->asked.is_nonblocking);
    struct communicator *state = is_taken ? state_of(call->comm) : NULL;
    if (!state || state->reason)
        return NULL;
    if (!state->neighbors)
        state->neighbors = new_neighbors(call->comm);
    return state->neighbors;
}

/* Sets the relative places of the destinations; each coordinate is between 0 and the size of its dimension. */
static void set_offsets(struct neighbors *neighbors, MPI_Comm comm, const struct grid *grid)
{
    int *place = shim_room(sizeof *place * ((size_t)grid->dimensions + 1));
    for (int i = 0; i < neighbors->graph.sent; i++) {
        PMPI_Cart_coords(comm, neighbors->destinations[i], grid->dimensions, place);
        for (int j = 0; j < grid->dimensions; j++)
            neighbors->offsets[i * grid->dimensions + j] =
                (place[j] - grid->place[j] + grid->sizes[j]) % grid->sizes[j];
    }
    free(place);
}

/* Returns 1 if all ranks have the same relative places; all ranks call it. It compares a hash of them. */
static int are_same_everywhere(const struct neighbors *neighbors, MPI_Comm comm, int dimensions)
{
    unsigned long long sum = (unsigned long long)neighbors->graph.sent, ends[2];
    for (int i = 0; i < neighbors->graph.sent * dimensions; i++)
        sum = sum * 6364136223846793005ull + (unsigned long long)neighbors->graph.offsets[i] + 1442695040888963407ull;
    ends[0] = sum;
    ends[1] = ~sum;
    return PMPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm) == MPI_SUCCESS &&
           ends[0] == ~ends[1];
}

/* The rank at a relative place of another rank, on a periodic grid. */
static int moved(const hocket_neighbors *graph, int rank, const int32_t *offset)
{
    int moved = 0;
    for (int i = graph->dimensions - 1, stride = 1; i >= 0; stride *= graph->sizes[i--])
        moved += (rank / stride + offset[i]) % graph->sizes[i] * stride;
    return moved;
}

/* Returns 1 if paths of edges lead from rank 0 to all ranks. All ranks have the same relative places. */
static int are_joined(const hocket_neighbors *graph, int ranks)
{
    int *reached = shim_room(sizeof *reached * (size_t)ranks), count = 1;
    char *is_reached = memset(shim_room((size_t)ranks), 0, (size_t)ranks);
    reached[0] = 0;
    is_reached[0] = 1;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < graph->sent; j++) {
            int next = moved(graph, reached[i], graph->offsets + j * graph->dimensions);
            if (!is_reached[next])
                reached[count++] = next;
            is_reached[next] = 1;
        }
    free(is_reached);
    free(reached);
    return count == ranks;
}

void shim_made_on(MPI_Comm grid_comm, MPI_Comm comm)
{
    int likeness, has_rules = has_rule(HOCKET_NEIGHBOR_ALLGATHER, 0) || has_rule(HOCKET_NEIGHBOR_ALLTOALL, 0) ||
                                    has_rule(HOCKET_NEIGHBOR_ALLGATHER, 1) || has_rule(HOCKET_NEIGHBOR_ALLTOALL, 1);
    if (!shim.is_ready || shim.off || !has_rules)
        return;
    PMPI_Comm_compare(grid_comm, comm, &likeness);
    struct communicator *state = kind_of(grid_comm) == MPI_CART && likeness == MPI_CONGRUENT ? state_of(comm) : NULL;
    if (!state || state->reason || state->neighbors)
        return;
    struct grid grid = grid_of(grid_comm);
    if (grid.is_periodic == 1) {
        state->neighbors = on_distributed_graph(comm, grid.dimensions);
        set_offsets(state->neighbors, grid_comm, &grid);
        if (are_same_everywhere(state->neighbors, comm, grid.dimensions)) {
            set_grid(state->neighbors, &grid);
            state->neighbors->is_joined = are_joined(&state->neighbors->graph, state->ranks);
        }
    }
    free(grid.sizes);
}
