/* Memory that the ranks of a node share. This file owns the lanes, and messages that were taken out early. */
#define _GNU_SOURCE /* for memfd_create */
#include "node_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

enum { CACHE_LINE = 64, CELLS = 64, BYTES_OF_CELL = 52 };

/* A part of a message. It has arrived when `turn` is its number in the lane, counted from 1. */
struct cell {
    uint32_t turn;
    int32_t tag;
    uint32_t bytes_of_message;
    char data[BYTES_OF_CELL];
};

struct lane {
    _Alignas(CACHE_LINE) struct cell cells[CELLS];
    /* Cells that the receiver has taken. */
    _Alignas(CACHE_LINE) uint32_t read_cells;
};

_Static_assert(sizeof(struct cell) == CACHE_LINE, "a cell is a cache line");
_Static_assert(MOST_SHARED <= BYTES_OF_CELL * CELLS, "a lane has room for a message");

/* A message that waits for room in a lane. */
struct waiting {
    struct waiting *next;
    int tag;
    const void *data;
    size_t bytes;
};

/* A message that was taken out of a lane early, to be received later. */
struct parcel {
    struct parcel *next;
    int tag;
    size_t bytes;
    char data[];
};

/* The state of this rank's messages with another rank of its node. */
struct peer {
    struct lane *to, *from;
    /* Cells sent and taken by this rank, and cells that the other rank had taken when last looked at. */
    uint32_t sent, read_cells, known_read_cells;
    /* Messages sent to the other rank, and messages that have left; the rest waits. */
    uint32_t messages, left;
    struct waiting *waiting;
    struct parcel *parcels;
};

struct node_memory {
    void *base;
    size_t bytes;
    /* For each rank of the communicator: its number on the node, or -1. */
    int *numbers;
    struct peer *peers;
};

/* The most bytes of one communicator and of the process; the present bytes of the process. */
enum { MOST_OF_ONE = 1 << 25, MOST_OF_ALL = 1 << 28 };
static size_t bytes_of_all;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

/* Creation */

enum { NAME = 64, TIME = 32 };

/* Creates memory without a name in the file system, so that no file stays after a crash. `name` gets the path by which
 * other processes open it, and at TIME what tells it from memory of other containers whose process ids coincide. It also
 * lies in the memory, in the lane of the first rank to itself. Returns its file, which the caller closes. Reserves the
 * memory, so that no later access can fail. */
static int create(char name[NAME], size_t bytes)
{
    struct timespec now;
    int file = memfd_create("hocket", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, TIME, "/proc/%ld/fd/%d", (long)getpid(), file);
    snprintf(name + TIME, NAME - TIME, "%lld %ld", (long long)now.tv_sec, now.tv_nsec);
    if (posix_fallocate(file, 0, (off_t)bytes) == 0 && pwrite(file, name, NAME, 0) == NAME)
        return file;
    close(file);
    return -1;
}

/* Maps the memory of a file, if it has this name. */
static void *map(int file, const char name[NAME], size_t bytes)
{
    struct stat about;
    if (file < 0 || fstat(file, &about) || about.st_size != (off_t)bytes)
        return NULL;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (memcmp(base, name, NAME) == 0)
        return base;
    munmap(base, bytes);
    return NULL;
}

/* Reserves bytes of the process's limit; returns 0 if it is exceeded. */
static int may_share(size_t bytes)
{
    pthread_mutex_lock(&memory_lock);
    int may = shim.shares_memory && bytes <= MOST_OF_ONE && bytes <= MOST_OF_ALL - bytes_of_all;
    bytes_of_all += may ? bytes : 0;
    pthread_mutex_unlock(&memory_lock);
    return may;
}

static void give_up(size_t bytes)
{
    pthread_mutex_lock(&memory_lock);
    bytes_of_all -= bytes;
    pthread_mutex_unlock(&memory_lock);
}

/* The first rank of the node creates the memory and sends its name, empty on failure, to the others. They answer
 * whether they have mapped it; the first rank then tells them whether all have. Returns NULL unless all have. */
static void *map_on_node(MPI_Comm comm, const int *others, int count, int is_first, size_t bytes, int tag)
{
    char name[NAME] = "";
    int may = may_share(bytes), file = -1, is_here, are_all;
    void *base = NULL;
    if (is_first) {
        file = may ? create(name, bytes) : -1;
        base = map(file, name, bytes);
        name[0] = base ? name[0] : 0;
        for (int i = 0; i < count; i++)
            PMPI_Send(name, NAME, MPI_CHAR, others[i], tag, comm);
        are_all = base != NULL;
        for (int i = 0; i < count; i++) {
            PMPI_Recv(&is_here, 1, MPI_INT, others[i], tag, comm, MPI_STATUS_IGNORE);
            are_all &= is_here;
        }
        for (int i = 0; i < count; i++)
            PMPI_Send(&are_all, 1, MPI_INT, others[i], tag, comm);
    } else {
        PMPI_Recv(name, NAME, MPI_CHAR, others[0], tag, comm, MPI_STATUS_IGNORE);
        file = may && *name ? open(name, O_RDWR | O_CLOEXEC) : -1;
        base = map(file, name, bytes);
        is_here = base != NULL;
        PMPI_Send(&is_here, 1, MPI_INT, others[0], tag, comm);
        PMPI_Recv(&are_all, 1, MPI_INT, others[0], tag, comm, MPI_STATUS_IGNORE);
    }
    if (file >= 0)
        close(file);
    if (may && !are_all)
        give_up(bytes);
    if (base && !are_all)
        munmap(base, bytes);
    return are_all ? base : NULL;
}

/* Finds the other ranks of this node, and the numbers of all ranks on the node; returns how many others there are. */
static int others_of(const int *nodes, int rank, int ranks, int *others, int *numbers)
{
    int count = 0, number = 0;
    for (int i = 0; i < ranks; i++) {
        numbers[i] = nodes[i] == nodes[rank] ? number++ : -1;
        if (numbers[i] >= 0 && i != rank)
            others[count++] = i;
    }
    return count;
}

static struct node_memory *new_state(void *base, size_t bytes, int *numbers, int own, int on_node)
{
    struct node_memory *memory = resize(NULL, sizeof *memory);
    struct lane *lanes = base;
    *memory = (struct node_memory){base, bytes, numbers, resize(NULL, sizeof(struct peer) * (size_t)on_node)};
    for (int i = 0; i < on_node; i++)
        memory->peers[i] = (struct peer){.to = &lanes[own * on_node + i], .from = &lanes[i * on_node + own]};
    return memory;
}

struct node_memory *new_node_memory(MPI_Comm comm, const int *nodes, int tag)
{
    int rank, ranks;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    int *numbers = resize(NULL, sizeof(int) * 2 * (size_t)ranks), *others = numbers + ranks;
    int count = others_of(nodes, rank, ranks, others, numbers), on_node = count + 1;
    size_t bytes = sizeof(struct lane) * (size_t)on_node * (size_t)on_node;
    void *base = count ? map_on_node(comm, others, count, numbers[rank] == 0, bytes, tag) : NULL;
    if (base)
        return new_state(base, bytes, numbers, numbers[rank], on_node);
    free(numbers);
    return NULL;
}

void free_node_memory(struct node_memory *memory)
{
    if (!memory)
        return;
    munmap(memory->base, memory->bytes);
    give_up(memory->bytes);
    free(memory->numbers);
    free(memory->peers);
    free(memory);
}

/* Messages */

int shares_memory_with(const struct node_memory *memory, int rank)
{
    return memory->numbers[rank] >= 0;
}

static struct peer *peer_of(struct node_memory *memory, int rank)
{
    return &memory->peers[memory->numbers[rank]];
}

static uint32_t cells_of(size_t bytes)
{
    return bytes <= BYTES_OF_CELL ? 1 : (uint32_t)((bytes + BYTES_OF_CELL - 1) / BYTES_OF_CELL);
}

static int has_room(struct peer *peer, uint32_t cells)
{
    if (peer->sent + cells - peer->known_read_cells <= CELLS)
        return 1;
    peer->known_read_cells = __atomic_load_n(&peer->to->read_cells, __ATOMIC_ACQUIRE);
    return peer->sent + cells - peer->known_read_cells <= CELLS;
}

/* Copies at most the bytes of a cell; whole cells by a few instructions, without a call. */
static size_t copy_part(char *into, const char *from, size_t remaining)
{
    if (remaining >= BYTES_OF_CELL)
        memcpy(into, from, BYTES_OF_CELL);
    else
        for (size_t i = 0; i < remaining; i++)
            into[i] = from[i];
    return remaining < BYTES_OF_CELL ? remaining : BYTES_OF_CELL;
}

/* Puts a message into a lane that has room. */
static void send_now(struct peer *peer, int tag, const void *data, size_t bytes)
{
    size_t at = 0;
    do {
        struct cell *cell = &peer->to->cells[peer->sent % CELLS];
        cell->tag = tag;
        cell->bytes_of_message = (uint32_t)bytes;
        at += copy_part(cell->data, (const char *)data + at, bytes - at);
        __atomic_store_n(&cell->turn, ++peer->sent, __ATOMIC_RELEASE);
    } while (at < bytes);
    peer->left++;
}

int put(struct node_memory *memory, int rank, int tag, const void *data, size_t bytes, uint32_t *number)
{
    struct peer *peer = peer_of(memory, rank);
    *number = ++peer->messages;
    if (!peer->waiting && has_room(peer, cells_of(bytes))) {
        send_now(peer, tag, data, bytes);
        return 1;
    }
    struct waiting *waiting = resize(NULL, sizeof *waiting), **last = &peer->waiting;
    *waiting = (struct waiting){NULL, tag, data, bytes};
    while (*last)
        last = &(*last)->next;
    *last = waiting;
    return 0;
}

int has_left(struct node_memory *memory, int rank, uint32_t number)
{
    struct peer *peer = peer_of(memory, rank);
    struct waiting *first;
    while ((first = peer->waiting) && has_room(peer, cells_of(first->bytes))) {
        send_now(peer, first->tag, first->data, first->bytes);
        peer->waiting = first->next;
        free(first);
    }
    return (int32_t)(peer->left - number) >= 0;
}

/* The first cell of the next message of a lane; NULL if cells of it are missing. */
static const struct cell *next_message(const struct peer *peer)
{
    const struct cell *cells = peer->from->cells, *first = &cells[peer->read_cells % CELLS];
    if (__atomic_load_n(&first->turn, __ATOMIC_ACQUIRE) != peer->read_cells + 1)
        return NULL;
    uint32_t last = peer->read_cells + cells_of(first->bytes_of_message);
    return __atomic_load_n(&cells[(last - 1) % CELLS].turn, __ATOMIC_ACQUIRE) == last ? first : NULL;
}

static void take_next(struct peer *peer, size_t bytes, char *into, size_t room)
{
    size_t length = bytes < room ? bytes : room;
    uint32_t cell = peer->read_cells;
    for (size_t at = 0; at < length; cell++)
        at += copy_part(into + at, peer->from->cells[cell % CELLS].data, length - at);
    peer->read_cells += cells_of(bytes);
    __atomic_store_n(&peer->from->read_cells, peer->read_cells, __ATOMIC_RELEASE);
}

/* The first parcel with a tag, as a place in the list; the end of the list if there is none. */
static struct parcel **find(struct peer *peer, int tag)
{
    struct parcel **place = &peer->parcels;
    while (*place && (*place)->tag != tag)
        place = &(*place)->next;
    return place;
}

/* Moves messages from a lane to the parcels until the next message has this tag. */
static const struct cell *look_for(struct peer *peer, int tag)
{
    const struct cell *next;
    while ((next = next_message(peer)) && next->tag != tag) {
        struct parcel *parcel = resize(NULL, sizeof *parcel + next->bytes_of_message), **last = &peer->parcels;
        *parcel = (struct parcel){NULL, next->tag, next->bytes_of_message};
        take_next(peer, parcel->bytes, parcel->data, parcel->bytes);
        while (*last)
            last = &(*last)->next;
        *last = parcel;
    }
    return next;
}

int take(struct node_memory *memory, int rank, int tag, void *into, size_t room, size_t *bytes)
{
    struct peer *peer = peer_of(memory, rank);
    struct parcel **place = find(peer, tag), *parcel = *place;
    if (parcel) {
        *place = parcel->next;
        *bytes = parcel->bytes;
        memcpy(into, parcel->data, parcel->bytes < room ? parcel->bytes : room);
        free(parcel);
        return 1;
    }
    const struct cell *next = look_for(peer, tag);
    if (!next)
        return 0;
    *bytes = next->bytes_of_message;
    take_next(peer, *bytes, into, room);
    return 1;
}

int has_arrived(struct node_memory *memory, int rank, int tag)
{
    struct peer *peer = peer_of(memory, rank);
    return *find(peer, tag) || look_for(peer, tag);
}
