/* Records the messages that MPI sends by libfabric, for the functions of recorder.h.
 *
 * It is preloaded, and it is the library that Intel MPI loads as libfabric (I_MPI_OFI_LIBRARY). It has the only function
 * of libfabric that makes objects, and hands on what the real library makes, with sends of its own. Objects and tables
 * of functions are words here; their places are those of libfabric's stable interface.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "recorder.h"

/* The place of the table of a fabric and of a domain, and of the table of an endpoint for messages with tags. */
enum { TABLE = 3, TAGGED = 7 };
enum { DOMAIN = 1, ENDPOINT = 3, SEND = 4, SENDV, SENDMSG, INJECT, SENDDATA, INJECTDATA };

typedef void **words;

/* fi_msg_tagged */
struct message {
    const struct iovec *pieces;
    void **descriptors;
    size_t count;
    uint64_t address;
};

/* Notes a message unless MPI has to try again; the address of a rank may be 0. */
static ssize_t note(ssize_t status, uint64_t address, size_t bytes)
{
    if (status == 0)
        record(address + 1, bytes);
    return status;
}

static size_t bytes_of(const struct iovec *pieces, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

static words real; /* the table of the real library */

static ssize_t send_(void *at, const void *data, size_t bytes, void *desc, uint64_t to, uint64_t tag, void *context)
{
    ssize_t (*call)(void *, const void *, size_t, void *, uint64_t, uint64_t, void *) = real[SEND];
    return note(call(at, data, bytes, desc, to, tag, context), to, bytes);
}

static ssize_t sendv(void *at, const struct iovec *v, void **desc, size_t n, uint64_t to, uint64_t tag, void *context)
{
    ssize_t (*call)(void *, const struct iovec *, void **, size_t, uint64_t, uint64_t, void *) = real[SENDV];
    return note(call(at, v, desc, n, to, tag, context), to, bytes_of(v, n));
}

static ssize_t sendmsg_(void *at, const struct message *message, uint64_t flags)
{
    ssize_t (*call)(void *, const struct message *, uint64_t) = real[SENDMSG];
    return note(call(at, message, flags), message->address, bytes_of(message->pieces, message->count));
}

static ssize_t inject(void *at, const void *data, size_t bytes, uint64_t to, uint64_t tag)
{
    ssize_t (*call)(void *, const void *, size_t, uint64_t, uint64_t) = real[INJECT];
    return note(call(at, data, bytes, to, tag), to, bytes);
}

static ssize_t senddata(
    void *at, const void *data, size_t bytes, void *desc, uint64_t more, uint64_t to, uint64_t tag, void *context)
{
    ssize_t (*call)(void *, const void *, size_t, void *, uint64_t, uint64_t, uint64_t, void *) = real[SENDDATA];
    return note(call(at, data, bytes, desc, more, to, tag, context), to, bytes);
}

static ssize_t injectdata(void *at, const void *data, size_t bytes, uint64_t more, uint64_t to, uint64_t tag)
{
    ssize_t (*call)(void *, const void *, size_t, uint64_t, uint64_t, uint64_t) = real[INJECTDATA];
    return note(call(at, data, bytes, more, to, tag), to, bytes);
}

/* Gives an object a table of its own, and returns it; its first word is its size in bytes. */
static words own_table(words object, int place)
{
    size_t bytes = (size_t)((words)object[place])[0];
    return object[place] = memcpy(malloc(bytes), object[place], bytes);
}

typedef int making(void *, void *, words *, void *);
static making *make_domain, *make_endpoint;

static int endpoint(void *domain, void *about, words *made, void *context)
{
    void *sends[] = { send_, sendv, sendmsg_, inject, senddata, injectdata };
    int status = make_endpoint(domain, about, made, context);
    if (!status) {
        real = (*made)[TAGGED];
        memcpy(own_table(*made, TAGGED) + SEND, sends, sizeof sends);
    }
    return status;
}

static int domain(void *fabric, void *about, words *made, void *context)
{
    int status = make_domain(fabric, about, made, context);
    if (!status) {
        words table = own_table(*made, TABLE);
        make_endpoint = table[ENDPOINT];
        table[ENDPOINT] = endpoint;
    }
    return status;
}

int fi_fabric(void *about, words *made, void *context)
{
    int (*make)(void *, words *, void *);
    *(void **)&make = dlvsym(dlopen("libfabric.so.1", RTLD_NOW), "fi_fabric", "FABRIC_1.1");
    int status = make(about, made, context);
    if (!status) {
        words table = own_table(*made, TABLE);
        make_domain = table[DOMAIN];
        table[DOMAIN] = domain;
    }
    return status;
}
