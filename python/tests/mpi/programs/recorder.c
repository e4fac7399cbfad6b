/* Records the messages that MPI sends by UCX, for the functions of recorder.h. Preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "recorder.h"

enum { MOST_TYPES = 1 << 12, HAS_DATATYPE = 1 << 3 };
/* A datatype is a class in its low bits; a contiguous one has the bytes of an element above them. */
enum { CLASS_BITS = 3, CLASS = (1 << CLASS_BITS) - 1, CONTIGUOUS = 0, PIECES = 2, GENERIC = 7, ONE_BYTE = 1 << CLASS_BITS };

/* ucp_dt_iov_t */
struct piece {
    void *data;
    size_t bytes;
};

/* ucp_generic_dt_ops_t */
struct generic {
    void *(*start_pack)(void *context, const void *data, size_t count);
    void *(*start_unpack)(void *context, void *data, size_t count);
    size_t (*packed_size)(void *state);
    size_t (*pack)(void *state, size_t offset, void *to, size_t most);
    int (*unpack)(void *state, size_t offset, const void *from, size_t bytes);
    void (*finish)(void *state);
};

/* The beginning of ucp_request_param_t. */
struct parameters {
    uint32_t given, flags;
    void *request, *callback;
    uint64_t datatype;
};

static struct {
    struct generic by;
    void *context;
    uint64_t type;
} types[MOST_TYPES];
static int known_types;

int ucp_dt_create_generic(const struct generic *by, void *context, uint64_t *type)
{
    static int (*create)(const struct generic *, void *, uint64_t *);
    if (!create)
        *(void **)&create = dlsym(RTLD_NEXT, "ucp_dt_create_generic");
    int status = create(by, context, type);
    types[known_types % MOST_TYPES].by = *by;
    types[known_types % MOST_TYPES].context = context;
    types[known_types++ % MOST_TYPES].type = *type;
    return status;
}

static size_t packed(const void *data, size_t count, uint64_t type)
{
    for (int i = known_types - 1; i >= 0 && i >= known_types - MOST_TYPES; i--)
        if (types[i % MOST_TYPES].type == type) {
            struct generic *by = &types[i % MOST_TYPES].by;
            void *state = by->start_pack(types[i % MOST_TYPES].context, data, count);
            size_t bytes = by->packed_size(state);
            by->finish(state);
            return bytes;
        }
    return 0;
}

static size_t bytes_of(const void *data, size_t count, uint64_t type)
{
    const struct piece *pieces = data;
    size_t bytes = 0;
    if ((type & CLASS) == CONTIGUOUS)
        return count * (type >> CLASS_BITS);
    if ((type & CLASS) == GENERIC)
        return packed(data, count, type);
    for (size_t i = 0; (type & CLASS) == PIECES && i < count; i++)
        bytes += pieces[i].bytes;
    return bytes;
}

static void note(void *endpoint, const void *data, size_t count, const struct parameters *more)
{
    uint64_t type = more->given & HAS_DATATYPE ? more->datatype : ONE_BYTE;
    record((uintptr_t)endpoint, is_on ? bytes_of(data, count, type) : 0);
}

void *ucp_tag_send_nbx(void *endpoint, const void *data, size_t count, uint64_t tag, const struct parameters *more)
{
    static void *(*send)(void *, const void *, size_t, uint64_t, const struct parameters *);
    if (!send)
        *(void **)&send = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    note(endpoint, data, count, more);
    return send(endpoint, data, count, tag, more);
}
