/* mcast.c: dynamic multicast over MPI, see hocket_mpi.h. It moves the messages of libhocket. */
#include "hocket_mpi.h"

#include "envelope.h"
#include "large_count.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The `user` of the transport's functions: the domain of the messages, and the elements. */
typedef struct carrier {
    hocket_mcast_domain *domain;
    MPI_Datatype type;
    MPI_Op op;
    size_t size;   /* bytes of data of an element */
    ptrdiff_t step; /* bytes from an element to the next */
    int is_flat;   /* elements are bytes without gaps */
} carrier;

/* A message under way. */
typedef struct pending {
    uint32_t slot;
    size_t size;
} pending;

/* Packed data, kept until they have left. */
typedef struct packed {
    uint64_t id;
    struct packed *next;
    char data[];
} packed;

/* A started collective over the group of a multicast. */
typedef struct running {
    uint64_t id;
    carrier of;
    struct running *next;
} running;

struct hocket_mcast_domain {
    MPI_Comm comm;
    int rank, ranks;
    hocket_domain *domain;
    carrier bytes;
    /* Messages under way, and ended messages that libhocket has not taken yet. */
    MPI_Request *requests;
    pending *pendings;
    int *indices;
    MPI_Status *statuses;
    int under_way, room;
    hocket_ended *ended;
    size_t ended_first, ended_count, ended_room;
    packed *packed;
    running *running;
    hocket_mcast_function *function;
    void *context;
    int is_calling;
    pthread_mutex_t lock;
    hocket_mcast_domain *next;
};

/* All domains of the process. */
static hocket_mcast_domain *domains;

static __thread char error_line[256];

const char *hocket_mcast_error(void) { return error_line; }

const char *hocket_mcast_library(void) {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

static int fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_line, sizeof error_line, format, arguments);
    va_end(arguments);
    return code;
}

static int mpi_failed(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "code %d", code);
    return fail(code, "%s: %s", what, text);
}

/* Data types */

static int carrier_of(hocket_mcast_domain *domain, MPI_Count count, MPI_Datatype type, MPI_Op op, carrier *of) {
    MPI_Count size;
    MPI_Aint lower, extent;
    int code = MPI_Type_size_x(type, &size);
    if (code == MPI_SUCCESS)
        code = MPI_Type_get_extent(type, &lower, &extent);
    if (code != MPI_SUCCESS)
        return mpi_failed(code, "data type");
    *of = (carrier){domain, type, op, (size_t)size, extent, is_flat(type)};
    if (!of->is_flat && size > INT_MAX)
        return fail(HOCKET_ERR_ARGUMENT, "data type: got elements of %lld B with gaps, expected at most 2^31 - 1",
                    (long long)size);
    if (count < 0 || (size && (uint64_t)count > (uint64_t)PTRDIFF_MAX / (uint64_t)size))
        return fail(HOCKET_ERR_ARGUMENT, "count: got %lld, expected at least 0 and at most what memory can hold",
                    (long long)count);
    return MPI_SUCCESS;
}

/* The transport */

static int grow(hocket_mcast_domain *domain) {
    if (domain->under_way < domain->room)
        return MPI_SUCCESS;
    int room = domain->room ? 2 * domain->room : 64;
    MPI_Request *requests = realloc(domain->requests, (size_t)room * sizeof *requests);
    domain->requests = requests ? requests : domain->requests;
    pending *pendings = realloc(domain->pendings, (size_t)room * sizeof *pendings);
    domain->pendings = pendings ? pendings : domain->pendings;
    int *indices = realloc(domain->indices, (size_t)room * sizeof *indices);
    domain->indices = indices ? indices : domain->indices;
    MPI_Status *statuses = realloc(domain->statuses, (size_t)room * sizeof *statuses);
    domain->statuses = statuses ? statuses : domain->statuses;
    if (!requests || !pendings || !indices || !statuses)
        return HOCKET_NO_MEMORY;
    domain->room = room;
    return MPI_SUCCESS;
}

static int start(carrier *of, uint32_t slot, void *data, size_t count, int peer, uint32_t tag, int is_send) {
    hocket_mcast_domain *domain = of->domain;
    int code = grow(domain);
    if (code != MPI_SUCCESS)
        return code;
    struct large_count all;
    code = count_as(count, of->type, &all);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Request *request = &domain->requests[domain->under_way];
    code = is_send ? MPI_Isend(data, all.count, all.type, peer, (int)tag, domain->comm, request)
                   : MPI_Irecv(data, all.count, all.type, peer, (int)tag, domain->comm, request);
    release_count(&all);
    if (code == MPI_SUCCESS)
        domain->pendings[domain->under_way++] = (pending){slot, of->size};
    return code;
}

static int do_send(void *user, uint32_t slot, const void *data, size_t count, int32_t to, uint32_t tag) {
    return start(user, slot, (void *)data, count, to, tag, 1);
}

static int do_receive(void *user, uint32_t slot, void *into, size_t count, int32_t from, uint32_t tag) {
    return start(user, slot, into, count, from == HOCKET_ANY_SOURCE ? MPI_ANY_SOURCE : from, tag, 0);
}

/* Moves messages that have ended into the queue. */
static int collect(hocket_mcast_domain *domain) {
    int count = 0;
    int code = MPI_Testsome(domain->under_way, domain->requests, &count, domain->indices, domain->statuses);
    if (code != MPI_SUCCESS || count == MPI_UNDEFINED || count == 0)
        return code;
    size_t number = (size_t)count;
    if (number > domain->ended_room) {
        hocket_ended *ended = realloc(domain->ended, number * sizeof *ended);
        if (!ended)
            return HOCKET_NO_MEMORY;
        domain->ended = ended;
        domain->ended_room = number;
    }
    domain->ended_first = 0;
    domain->ended_count = number;
    for (int i = 0; i < count; i++) {
        const pending *one = &domain->pendings[domain->indices[i]];
        MPI_Count bytes = 0;
        MPI_Get_elements_x(&domain->statuses[i], MPI_BYTE, &bytes);
        size_t elements = bytes > 0 && one->size > 0 ? (size_t)bytes / one->size : 0;
        domain->ended[i] = (hocket_ended){one->slot, (uint32_t)domain->statuses[i].MPI_SOURCE, elements};
    }
    int remaining = 0;
    for (int i = 0; i < domain->under_way; i++)
        if (domain->requests[i] != MPI_REQUEST_NULL) {
            domain->requests[remaining] = domain->requests[i];
            domain->pendings[remaining++] = domain->pendings[i];
        }
    domain->under_way = remaining;
    return MPI_SUCCESS;
}

static int do_test(void *user, int may_wait, hocket_ended *ended, size_t room, size_t *count) {
    hocket_mcast_domain *domain = ((carrier *)user)->domain;
    *count = 0;
    do {
        if (domain->ended_first == domain->ended_count) {
            domain->ended_first = domain->ended_count = 0;
            int code = collect(domain);
            if (code != MPI_SUCCESS)
                return code;
        }
    } while (may_wait && domain->ended_count == 0);
    size_t number = domain->ended_count - domain->ended_first;
    number = number < room ? number : room;
    if (number > 0)
        memcpy(ended, domain->ended + domain->ended_first, number * sizeof *ended);
    domain->ended_first += number;
    *count = number;
    return MPI_SUCCESS;
}

static int do_reduce(void *user, const void *source, void *target, size_t count) {
    const carrier *of = user;
    int code = MPI_SUCCESS;
    for (size_t first = 0; first < count && code == MPI_SUCCESS; first += MOST_AT_ONCE) {
        size_t some = count - first < MOST_AT_ONCE ? count - first : MOST_AT_ONCE;
        ptrdiff_t offset = (ptrdiff_t)first * of->step;
        code = MPI_Reduce_local((const char *)source + offset, (char *)target + offset, (int)some, of->type, of->op);
    }
    return code;
}

/* The tag of copies within a rank; libhocket uses 0 and the tags from 64 on. */
#define COPY_TAG 1

static int do_copy(void *user, const void *source, void *target, size_t count) {
    const carrier *of = user;
    if (of->is_flat) {
        memmove(target, source, count * of->size);
        return MPI_SUCCESS;
    }
    struct large_count all;
    int rank = of->domain->rank, code = count_as(count, of->type, &all);
    if (code != MPI_SUCCESS)
        return code;
    code = MPI_Sendrecv(source, all.count, all.type, rank, COPY_TAG, target, all.count, all.type, rank, COPY_TAG,
                        of->domain->comm, MPI_STATUS_IGNORE);
    release_count(&all);
    return code;
}

static const hocket_transport transport = {do_send, do_receive, do_test, do_reduce, do_copy};

/* Progress */

static void free_packed(hocket_mcast_domain *domain) {
    packed **at = &domain->packed;
    while (*at) {
        packed *one = *at;
        if (hocket_domain_has_left(domain->domain, one->id)) {
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
}

/* Advances one locked domain. Returns 1 if something happened, else 0; on an error -1 and the code. */
static int advance(hocket_mcast_domain *domain, int *code) {
    int failure = 0, news = hocket_domain_advance(domain->domain, 0, &failure);
    if (news == HOCKET_FAILED) {
        const char *why = failure == HOCKET_BAD_HEADER      ? "received a message that is not the header of a multicast"
                          : failure == HOCKET_NO_MEMORY     ? "out of memory for a multicast"
                          : failure == HOCKET_TOO_MANY_TAGS ? "an algorithm needs more tags than the MPI has"
                                                            : NULL;
        *code = why ? fail(HOCKET_ERR_BROKEN, "%s", why) : mpi_failed(failure, "multicast");
        return -1;
    }
    if (domain->packed)
        free_packed(domain);
    hocket_multicast multicast;
    while (domain->function && !domain->is_calling && hocket_domain_take(domain->domain, &multicast)) {
        hocket_mcast_function *function = domain->function;
        domain->is_calling = 1;
        pthread_mutex_unlock(&domain->lock);
        function(domain, &multicast, domain->context);
        pthread_mutex_lock(&domain->lock);
        domain->is_calling = 0;
        hocket_domain_release(domain->domain, multicast.id);
        news = 1;
    }
    return news;
}

/* Advances all domains that no other thread holds. Returns 1 if something happened. */
static int advance_all(void) {
    int has_news = 0, code;
    for (hocket_mcast_domain *domain = domains; domain; domain = domain->next)
        if (pthread_mutex_trylock(&domain->lock) == 0) {
            has_news |= advance(domain, &code) > 0;
            pthread_mutex_unlock(&domain->lock);
        }
    return has_news;
}

/* Vain looks for messages before the process yields its processor. */
#define PATIENCE 8

/* A condition that a function waits for. Tested with the domain locked; returns 1 if it holds. */
typedef int condition(hocket_mcast_domain *domain, void *of, int *code);

/* Sets `holds`; advances the domain before a second look. `news` is 1 if something happened. */
static int look_for(hocket_mcast_domain *domain, condition *is_there, void *of, int *holds, int *news) {
    int code = MPI_SUCCESS;
    pthread_mutex_lock(&domain->lock);
    *holds = is_there(domain, of, &code);
    if (!*holds && code == MPI_SUCCESS) {
        *news = advance(domain, &code);
        *holds = code == MPI_SUCCESS && is_there(domain, of, &code);
    }
    pthread_mutex_unlock(&domain->lock);
    return code;
}

static int wait_for(hocket_mcast_domain *domain, condition *is_there, void *of) {
    int idle = 0;
    for (;;) {
        int holds, news = 0, code = look_for(domain, is_there, of, &holds, &news);
        if (holds || code != MPI_SUCCESS)
            return code;
        if (domains->next)
            news |= advance_all();
        idle = news ? 0 : idle + 1;
        if (idle >= PATIENCE)
            sched_yield();
    }
}

int hocket_mcast_progress(void) {
    advance_all();
    return MPI_SUCCESS;
}

/* Domains */

static uint32_t hash(const char *text) {
    uint32_t value = 2166136261u;
    for (; text && *text; text++)
        value = (value ^ (unsigned char)*text) * 16777619u;
    return value & 0x7fffffff;
}

static void forget_running(hocket_mcast_domain *domain, uint64_t id) {
    for (running **at = &domain->running; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            running *one = *at;
            *at = one->next;
            free(one);
            return;
        }
}

static void discard(hocket_mcast_domain *domain) {
    while (domain->running)
        forget_running(domain, domain->running->id);
    free(domain->requests);
    free(domain->pendings);
    free(domain->indices);
    free(domain->statuses);
    free(domain->ended);
    pthread_mutex_destroy(&domain->lock);
    MPI_Comm_free(&domain->comm);
    free(domain);
}

/* Cancels the receive of the next header, and all other messages of a broken domain. */
static void stop_listening(hocket_mcast_domain *domain) {
    for (int i = 0; i < domain->under_way; i++)
        if (domain->requests[i] != MPI_REQUEST_NULL)
            MPI_Cancel(&domain->requests[i]);
    MPI_Waitall(domain->under_way, domain->requests, MPI_STATUSES_IGNORE);
    domain->under_way = 0;
}

int hocket_mcast_domain_create(MPI_Comm comm, int master, const char *rules, hocket_mcast_domain **domain) {
    *domain = NULL;
    if (comm == MPI_COMM_NULL)
        return fail(HOCKET_ERR_ARGUMENT, "comm: got MPI_COMM_NULL, expected a communicator");
    int is_inter = 0, code = MPI_Comm_test_inter(comm, &is_inter);
    if (code == MPI_SUCCESS && is_inter)
        return fail(HOCKET_ERR_ARGUMENT, "comm: got an intercommunicator, expected an intracommunicator");
    hocket_mcast_domain *made = calloc(1, sizeof *made);
    if (!made)
        return fail(HOCKET_ERR_BROKEN, "out of memory for a domain");
    code = code == MPI_SUCCESS ? MPI_Comm_dup(comm, &made->comm) : code;
    if (code != MPI_SUCCESS) {
        free(made);
        return mpi_failed(code, "comm");
    }
    MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(made->comm, &made->rank);
    MPI_Comm_size(made->comm, &made->ranks);
    made->bytes = (carrier){made, MPI_BYTE, MPI_OP_NULL, 1, 1, 1};
    pthread_mutex_init(&made->lock, NULL);
    char why[sizeof error_line] = "";
    made->domain = hocket_domain_new(made->rank, made->ranks, master, rules, &transport, &made->bytes, why, sizeof why);

    int rule = (int)hash(rules), mine[5] = {made->domain != NULL, master, -master, rule, -rule}, all[5] = {0};
    code = MPI_Allreduce(mine, all, 5, MPI_INT, MPI_MIN, made->comm);
    if (code != MPI_SUCCESS)
        mpi_failed(code, "comm");
    else if (!made->domain)
        code = fail(HOCKET_ERR_ARGUMENT, "%s", why);
    else if (all[1] != -all[2] || all[3] != -all[4])
        code = fail(HOCKET_ERR_ARGUMENT, "the ranks gave different masters or rules, expected the same on all ranks");
    else if (!all[0])
        code = fail(HOCKET_ERR_ARGUMENT, "another rank could not create the domain");
    if (code != MPI_SUCCESS) {
        stop_listening(made);
        if (made->domain)
            hocket_domain_free(made->domain);
        discard(made);
        return code;
    }
    made->next = domains;
    domains = made;
    *domain = made;
    return MPI_SUCCESS;
}

/* Discards the multicasts that nobody receives any more; returns 1 if the multicasts of this rank are complete. */
static int has_nothing_left(hocket_mcast_domain *domain, void *of, int *code) {
    (void)of;
    (void)code;
    hocket_multicast multicast;
    while (hocket_domain_take(domain->domain, &multicast))
        hocket_domain_release(domain->domain, multicast.id);
    return hocket_domain_incomplete(domain->domain) == 0;
}

/* Returns 1 if all ranks have reached the barrier, and this rank has only the receive of the next header left. */
static int all_are_done(hocket_mcast_domain *domain, void *of, int *code) {
    MPI_Request *barrier = of;
    has_nothing_left(domain, NULL, code);
    int flag = 0;
    if (*barrier != MPI_REQUEST_NULL)
        *code = MPI_Test(barrier, &flag, MPI_STATUS_IGNORE);
    return *barrier == MPI_REQUEST_NULL && domain->under_way <= 1;
}

int hocket_mcast_domain_free(hocket_mcast_domain **freed) {
    hocket_mcast_domain *domain = *freed;
    if (!domain)
        return MPI_SUCCESS;
    pthread_mutex_lock(&domain->lock);
    domain->function = NULL;
    pthread_mutex_unlock(&domain->lock);
    int code = wait_for(domain, has_nothing_left, NULL);
    MPI_Request barrier;
    int barrier_code = MPI_Ibarrier(domain->comm, &barrier);
    if (code == MPI_SUCCESS && barrier_code == MPI_SUCCESS)
        code = wait_for(domain, all_are_done, &barrier);
    else if (barrier_code == MPI_SUCCESS)
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    for (hocket_mcast_domain **at = &domains; *at; at = &(*at)->next)
        if (*at == domain) {
            *at = domain->next;
            break;
        }
    stop_listening(domain);
    free_packed(domain);
    hocket_domain_free(domain->domain);
    discard(domain);
    *freed = NULL;
    return code;
}

/* The master */

/* Packs elements, or unpacks them, as many at a time as MPI counts. */
static int pack(const carrier *of, void *buffer, size_t count, char *data, int unpacks) {
    size_t most = of->size ? INT_MAX / of->size : INT_MAX;
    for (size_t first = 0; first < count; first += most) {
        size_t some = count - first < most ? count - first : most;
        int position = 0, bytes = (int)(some * of->size);
        char *elements = (char *)buffer + (ptrdiff_t)first * of->step, *at = data + first * of->size;
        int code = unpacks ? MPI_Unpack(at, bytes, &position, elements, (int)some, of->type, of->domain->comm)
                           : MPI_Pack(elements, (int)some, of->type, at, bytes, &position, of->domain->comm);
        if (code != MPI_SUCCESS)
            return mpi_failed(code, unpacks ? "unpacking" : "packing");
    }
    return MPI_SUCCESS;
}

int hocket_mcast_send(hocket_mcast_domain *domain, const unsigned char *members, size_t members_bytes,
                      const void *buffer, MPI_Count count, MPI_Datatype type, uint64_t *id) {
    carrier of;
    int code = carrier_of(domain, count, type, MPI_OP_NULL, &of);
    if (code != MPI_SUCCESS)
        return code;
    if (!members || (!buffer && of.is_flat && count > 0))
        return fail(HOCKET_ERR_ARGUMENT, "%s: got NULL, expected memory", members ? "buffer" : "members");
    packed *entry = NULL;
    if (!of.is_flat && count > 0) {
        entry = malloc(sizeof *entry + (size_t)count * of.size);
        code = entry ? pack(&of, (void *)buffer, (size_t)count, entry->data, 0)
                     : fail(HOCKET_ERR_BROKEN, "out of memory for %zu B", (size_t)count * of.size);
        if (code != MPI_SUCCESS) {
            free(entry);
            return code;
        }
    }
    const char *reason = NULL;
    pthread_mutex_lock(&domain->lock);
    if (hocket_domain_send(domain->domain, members, members_bytes, entry ? entry->data : buffer,
                           (size_t)count * of.size, id, &reason)) {
        code = fail(HOCKET_ERR_ARGUMENT, "%s", reason);
        free(entry);
    } else if (entry) {
        entry->id = *id;
        entry->next = domain->packed;
        domain->packed = entry;
    }
    int failure = MPI_SUCCESS;
    advance(domain, &failure);
    pthread_mutex_unlock(&domain->lock);
    return code != MPI_SUCCESS ? code : failure;
}

typedef struct issue {
    uint64_t id;
    int what;
} issue;

static int is_so_far(hocket_mcast_domain *domain, void *of, int *code) {
    (void)code;
    const issue *one = of;
    return one->what == HOCKET_MCAST_LEFT ? hocket_domain_has_left(domain->domain, one->id)
                                          : hocket_domain_is_complete(domain->domain, one->id);
}

int hocket_mcast_wait(hocket_mcast_domain *domain, uint64_t id, int what) {
    issue one = {id, what};
    return wait_for(domain, is_so_far, &one);
}

int hocket_mcast_test(hocket_mcast_domain *domain, uint64_t id, int what, int *flag) {
    issue one = {id, what};
    int news;
    return look_for(domain, is_so_far, &one, flag, &news);
}

/* The members */

static int takes(hocket_mcast_domain *domain, void *of, int *code) {
    (void)code;
    return hocket_domain_take(domain->domain, of);
}

int hocket_mcast_take(hocket_mcast_domain *domain, hocket_multicast *multicast) {
    return wait_for(domain, takes, multicast);
}

int hocket_mcast_poll(hocket_mcast_domain *domain, hocket_multicast *multicast, int *flag) {
    int news, code = look_for(domain, takes, multicast, flag, &news);
    if (domains->next)
        advance_all();
    return code;
}

int hocket_mcast_release(hocket_mcast_domain *domain, uint64_t id) {
    int code = MPI_SUCCESS;
    pthread_mutex_lock(&domain->lock);
    if (hocket_domain_release(domain->domain, id))
        advance(domain, &code);
    else
        code = fail(HOCKET_ERR_ARGUMENT, "multicast %llu: is not held, or its collective still runs",
                    (unsigned long long)id);
    pthread_mutex_unlock(&domain->lock);
    return code;
}

/* A waiting receive. */
typedef struct receive {
    void *buffer;
    size_t bytes;
    carrier of;
    hocket_mcast_status status;
} receive;

/* Takes the next multicast into the buffer and releases it. */
static int received(hocket_mcast_domain *domain, void *of, int *code) {
    receive *one = of;
    hocket_multicast multicast;
    if (!hocket_domain_take(domain->domain, &multicast))
        return 0;
    size_t size = one->of.size;
    MPI_Count count = size ? (MPI_Count)(multicast.bytes / size) : 0;
    one->status = (hocket_mcast_status){multicast.id, count, multicast.bytes, multicast.rank, multicast.size};
    if (multicast.bytes > one->bytes)
        *code = fail(MPI_ERR_TRUNCATE, "got a multicast of %zu B, expected at most the %zu B of the buffer",
                     multicast.bytes, one->bytes);
    else if (!one->of.is_flat)
        *code = pack(&one->of, one->buffer, (size_t)count, (char *)multicast.data, 1);
    else if (multicast.data != one->buffer && multicast.bytes > 0)
        memcpy(one->buffer, multicast.data, multicast.bytes);
    hocket_domain_release(domain->domain, multicast.id);
    return 1;
}

int hocket_mcast_recv(hocket_mcast_domain *domain, void *buffer, MPI_Count count, MPI_Datatype type,
                      hocket_mcast_status *status) {
    receive one = {buffer, 0, {0}, {0}};
    int code = carrier_of(domain, count, type, MPI_OP_NULL, &one.of);
    if (code != MPI_SUCCESS)
        return code;
    one.bytes = (size_t)count * one.of.size;
    int has_offered = 0;
    if (one.of.is_flat) {
        pthread_mutex_lock(&domain->lock);
        has_offered = hocket_domain_offer(domain->domain, buffer, one.bytes);
        pthread_mutex_unlock(&domain->lock);
    }
    code = wait_for(domain, received, &one);
    if (has_offered) {
        pthread_mutex_lock(&domain->lock);
        hocket_domain_withdraw(domain->domain);
        pthread_mutex_unlock(&domain->lock);
    }
    if (status)
        *status = one.status;
    return code;
}

static int has_acknowledged(hocket_mcast_domain *domain, void *of, int *code) {
    (void)of;
    (void)code;
    return hocket_domain_unacknowledged(domain->domain) == 0;
}

int hocket_mcast_flush(hocket_mcast_domain *domain) { return wait_for(domain, has_acknowledged, NULL); }

int hocket_mcast_listen(hocket_mcast_domain *domain, hocket_mcast_function *function, void *context) {
    pthread_mutex_lock(&domain->lock);
    domain->function = function;
    domain->context = context;
    pthread_mutex_unlock(&domain->lock);
    return MPI_SUCCESS;
}

/* Collectives over groups */

static int is_over(hocket_mcast_domain *domain, void *of, int *code) {
    const uint64_t *id = of;
    int failure = 0, state = hocket_domain_collective(domain->domain, *id, &failure);
    if (state == HOCKET_FAILED)
        *code = failure > 0 ? mpi_failed(failure, "collective") : fail(HOCKET_ERR_BROKEN, "an error broke the domain");
    if (state == HOCKET_DONE)
        forget_running(domain, *id);
    return state == HOCKET_DONE;
}

int hocket_mcast_collective_wait(hocket_mcast_domain *domain, uint64_t id) { return wait_for(domain, is_over, &id); }

int hocket_mcast_collective_test(hocket_mcast_domain *domain, uint64_t id, int *flag) {
    int news;
    return look_for(domain, is_over, &id, flag, &news);
}

/* The collective owns a copy of the carrier until it is over. */
int hocket_mcast_collective_start(hocket_mcast_domain *domain, const hocket_multicast *multicast, int collective,
                                  const void *input, void *result, MPI_Count count, MPI_Datatype type, MPI_Op op,
                                  int root) {
    carrier of;
    int code = carrier_of(domain, count, type, op, &of), commutes = 1, in_place = input == MPI_IN_PLACE;
    if (code != MPI_SUCCESS)
        return code;
    if (root < 0 || root >= multicast->size)
        return fail(HOCKET_ERR_ARGUMENT, "root: got %d, expected a root below %d", root, multicast->size);
    if (op != MPI_OP_NULL)
        code = MPI_Op_commutative(op, &commutes);
    MPI_Aint lower, extent;
    if (code == MPI_SUCCESS)
        code = MPI_Type_get_true_extent(type, &lower, &extent);
    if (code != MPI_SUCCESS)
        return mpi_failed(code, "collective");
    hocket_call call = {.collective = collective,
                        .root = root,
                        .in_place = in_place,
                        .commutative = commutes,
                        .count = (size_t)count,
                        .element_bytes = of.size ? of.size : 1,
                        .layout = {of.step, lower, (size_t)extent}};
    const char *reason = NULL;
    running *one = malloc(sizeof *one);
    if (!one)
        return fail(HOCKET_ERR_BROKEN, "out of memory for a collective");
    *one = (running){multicast->id, of, NULL};
    pthread_mutex_lock(&domain->lock);
    if (hocket_domain_start(domain->domain, one->id, multicast->size, &call, in_place ? NULL : input, result, &one->of,
                            &reason)) {
        code = fail(HOCKET_ERR_ARGUMENT, "%s", reason);
        free(one);
    } else {
        one->next = domain->running;
        domain->running = one;
    }
    pthread_mutex_unlock(&domain->lock);
    return code;
}

int hocket_mcast_collective(hocket_mcast_domain *domain, const hocket_multicast *multicast, int collective,
                            const void *input, void *result, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) {
    int code = hocket_mcast_collective_start(domain, multicast, collective, input, result, count, type, op, root);
    return code == MPI_SUCCESS ? hocket_mcast_collective_wait(domain, multicast->id) : code;
}
