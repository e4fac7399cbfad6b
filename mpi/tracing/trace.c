/* Traces an MPI program: lines of calls, numbers of communicators and requests, clocks, and the file.
 *
 * Each process writes its lines to its own temporary file. At the end rank 0 gathers them by messages, so that no
 * shared file system is needed. Times are MPI_Wtime since the beginning. The offset of each clock to the clock of rank
 * 0 is measured at the beginning and at the end.
 */
#define _GNU_SOURCE
#include "trace.h"

#include "clock.h"
#include "envelope.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, BUCKETS = 4096, CHUNK_BYTES = 1 << 22, PING_PONGS = 20 };

/* The numbers of partners that are no ranks. */
enum { ANY = -1, NOBODY = -2, THIS_ROOT = -3 };

struct request {
    struct request_facts facts;
    struct request *next;
};

struct message {
    MPI_Message handle;
    struct message_facts facts;
    struct message *next;
};

static struct {
    int is_on, rank, ranks;
    MPI_Comm comm;
    MPI_Group world;
    int keyval;
    /* The next number of each. */
    int comms, requests, threads;
    long long calls;
    double origin_s, offset_s;
    FILE *lines, *file;
    struct request *open[BUCKETS], *unused;
    struct message *messages;
    pthread_mutex_t lock;
} trace = {.keyval = MPI_KEYVAL_INVALID, .lock = PTHREAD_MUTEX_INITIALIZER};

/* How many MPI functions this thread is in; its number; its tests and probes that found nothing. */
static __thread int depth, thread_number = -1;
static __thread struct {
    const char *function;
    double start_s, end_s;
    long long tries;
} looks;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "hocket: %s: %s\n", what, why);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static void *memory(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        fail("trace", "out of memory");
    return memory;
}

static double now_s(void)
{
    return PMPI_Wtime() - trace.origin_s;
}

/* Lines. They are written under the lock, without printf, which takes as long as a short message. */

static void put(const char *text)
{
    fputs_unlocked(text, trace.lines);
}

static void put_number(long long value)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long long rest = value < 0 ? 0ull - (unsigned long long)value : (unsigned long long)value;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--at = '-';
    fwrite_unlocked(at, 1, (size_t)(digits + sizeof digits - at), trace.lines);
}

/* Writes a time in seconds with nanoseconds, at least 0. */
static void put_time(double time_s)
{
    long long time_ns = time_s > 0 ? (long long)(time_s * 1e9 + 0.5) : 0;
    char decimals[] = ".000000000";
    long long rest = time_ns % 1000000000;
    for (char *at = decimals + 9; rest; rest /= 10)
        *at-- = (char)('0' + rest % 10);
    put_number(time_ns / 1000000000);
    put(decimals);
}

static void put_name(const char *prefix, const char *name)
{
    put(",\"");
    put(prefix);
    put(name);
    put("\":");
}

static void line_begins(const char *function, double start_s, double end_s)
{
    if (thread_number < 0)
        thread_number = trace.threads++;
    put("{\"call\":\"");
    put(function);
    put("\",\"start_s\":");
    put_time(start_s);
    put(",\"end_s\":");
    put_time(end_s);
    if (thread_number)
        field("thread", thread_number);
    trace.calls++;
}

static void write_looks(void)
{
    if (!looks.tries)
        return;
    line_begins(looks.function, looks.start_s, looks.end_s);
    field("tries", looks.tries);
    put("}\n");
    looks.tries = 0;
}

struct moment call_begins(void)
{
    struct moment call_start = {0, depth++ == 0 && trace.is_on};
    if (call_start.is_traced)
        call_start.start_s = now_s();
    return call_start;
}

int call_ends(struct moment call_start, const char *function, int code)
{
    depth--;
    if (!call_start.is_traced || code != MPI_SUCCESS)
        return 0;
    double end_s = now_s();
    pthread_mutex_lock(&trace.lock);
    write_looks();
    line_begins(function, call_start.start_s, end_s);
    return 1;
}

void line_ends(void)
{
    put("}\n");
    if (ferror(trace.lines))
        fail("trace: cannot write a temporary file", strerror(errno));
    pthread_mutex_unlock(&trace.lock);
}

void look_failed(struct moment call_start, const char *function)
{
    depth--;
    if (!call_start.is_traced)
        return;
    if (looks.tries && strcmp(looks.function, function) != 0) {
        pthread_mutex_lock(&trace.lock);
        write_looks();
        pthread_mutex_unlock(&trace.lock);
    }
    if (!looks.tries++) {
        looks.function = function;
        looks.start_s = call_start.start_s;
    }
    looks.end_s = now_s();
}

void field(const char *name, long long value)
{
    put_name("", name);
    put_number(value);
}

void fields(const char *name, const void *values, size_t element_bytes, int count)
{
    put_name("", name);
    for (int i = 0; i < count; i++) {
        put(i ? "," : "[");
        put_number(element_bytes == sizeof(int) ? ((const int *)values)[i] : (long long)((const MPI_Count *)values)[i]);
    }
    put(count > 0 ? "]" : "[]");
}

void flag_field(const char *name, int value)
{
    put_name("", name);
    put(value ? "true" : "false");
}

void text_field(const char *name, const char *text)
{
    fprintf(trace.lines, ",\"%s\":\"", name);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            fprintf(trace.lines, "\\u%04x", *text);
        else
            fprintf(trace.lines, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', trace.lines);
}

/* Partners, data, operators */

static int partner(int peer)
{
    return peer == MPI_PROC_NULL ? NOBODY : peer == MPI_ANY_SOURCE ? ANY : peer == MPI_ROOT ? THIS_ROOT : peer;
}

static void put_prefixed(const char *prefix, const char *name, long long value)
{
    put_name(prefix, name);
    put_number(value);
}

void peer_fields(const char *prefix, int peer, int tag)
{
    put_prefixed(prefix, "peer", partner(peer));
    put_prefixed(prefix, "tag", tag == MPI_ANY_TAG ? ANY : tag);
}

void root_field(int root)
{
    field("root", partner(root));
}

void type_fields(const char *prefix, MPI_Datatype type)
{
    char name[MPI_MAX_OBJECT_NAME] = "derived";
    int length;
    MPI_Count bytes;
    PMPI_Type_size_x(type, &bytes);
    if (is_named(type))
        PMPI_Type_get_name(type, name, &length);
    put_name(prefix, "type");
    put("\"");
    put(name);
    put("\"");
    put_prefixed(prefix, "type_bytes", bytes);
}

void data_fields(const char *prefix, MPI_Count count, MPI_Datatype type)
{
    put_prefixed(prefix, "count", count);
    type_fields(prefix, type);
}

void op_fields(MPI_Op op)
{
#define NAMED(op) {op, #op}
    const struct {
        MPI_Op op;
        const char *name;
    } named[] = {NAMED(MPI_SUM), NAMED(MPI_MAX), NAMED(MPI_MIN), NAMED(MPI_PROD), NAMED(MPI_LAND), NAMED(MPI_BAND),
                 NAMED(MPI_LOR), NAMED(MPI_BOR), NAMED(MPI_LXOR), NAMED(MPI_BXOR), NAMED(MPI_MINLOC), NAMED(MPI_MAXLOC)};
    const char *name = "user";
    int commutes = 1;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].op == op)
            name = named[i].name;
    PMPI_Op_commutative(op, &commutes);
    text_field("op", name);
    flag_field("commutative", commutes);
}

/* Communicators */

static void ranks_field(const char *name, MPI_Group group)
{
    int ranks;
    PMPI_Group_size(group, &ranks);
    int *own = memory(2 * sizeof(int) * (size_t)ranks), *world = own + ranks;
    for (int i = 0; i < ranks; i++)
        own[i] = i;
    PMPI_Group_translate_ranks(group, ranks, own, trace.world, world);
    for (int i = 0; i < ranks; i++)
        world[i] = world[i] == MPI_UNDEFINED ? ANY : world[i];
    fields(name, world, sizeof *world, ranks);
    free(own);
}

static void groups_fields(MPI_Comm comm, const char *ranks, const char *remote_ranks)
{
    MPI_Group group;
    int is_inter;
    PMPI_Comm_group(comm, &group);
    ranks_field(ranks, group);
    PMPI_Group_free(&group);
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter) {
        PMPI_Comm_remote_group(comm, &group);
        ranks_field(remote_ranks, group);
        PMPI_Group_free(&group);
    }
}

static void set_number(MPI_Comm comm, int number)
{
    PMPI_Comm_set_attr(comm, trace.keyval, (void *)(intptr_t)number);
}

static int number_of(MPI_Comm comm, int *is_known)
{
    void *number;
    PMPI_Comm_get_attr(comm, trace.keyval, &number, is_known);
    return *is_known ? (int)(intptr_t)number : -1;
}

void comm_field(MPI_Comm comm)
{
    int is_known, number = number_of(comm, &is_known);
    if (!is_known)
        set_number(comm, number = trace.comms++);
    field("comm", number);
    if (!is_known)
        groups_fields(comm, "ranks", "remote_ranks");
}

void new_comm_field(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return;
    set_number(comm, trace.comms);
    field("new", trace.comms++);
    groups_fields(comm, "new_ranks", "new_remote_ranks");
}

int coming_comm_field(MPI_Comm parent)
{
    field("new", trace.comms);
    groups_fields(parent, "new_ranks", "new_remote_ranks");
    return trace.comms++;
}

int comm_number(MPI_Comm comm)
{
    int is_known;
    return trace.is_on && comm != MPI_COMM_NULL ? number_of(comm, &is_known) : -1;
}

int is_root(MPI_Comm comm, int root)
{
    int is_inter, rank;
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_rank(comm, &rank);
    return is_inter ? root == MPI_ROOT : root == rank;
}

int blocks_of(MPI_Comm comm)
{
    int is_inter, ranks;
    PMPI_Comm_test_inter(comm, &is_inter);
    (is_inter ? PMPI_Comm_remote_size : PMPI_Comm_size)(comm, &ranks);
    return ranks;
}

/* Requests. Several complete requests may share a handle: MPICH does so for short messages. */

static struct request **bucket(MPI_Request handle)
{
    uint64_t bits = 0;
    memcpy(&bits, &handle, sizeof handle);
    return &trace.open[(bits * 0x9E3779B97F4A7C15u) >> 52];
}

static void keep(struct request_facts facts)
{
    struct request *request = trace.unused, **place = bucket(facts.handle);
    if (request)
        trace.unused = request->next;
    else
        request = memory(sizeof *request);
    *request = (struct request){facts, *place};
    *place = request;
}

static struct request_facts take(MPI_Request handle)
{
    struct request_facts facts = {.handle = handle, .number = -1};
    if (handle == MPI_REQUEST_NULL)
        return facts;
    for (struct request **place = bucket(handle); *place; place = &(*place)->next)
        if ((*place)->facts.handle == handle) {
            struct request *entry = *place;
            facts = entry->facts;
            *place = entry->next;
            entry->next = trace.unused;
            trace.unused = entry;
            break;
        }
    return facts;
}

void request_field(MPI_Request request, struct request_facts facts)
{
    facts.handle = request;
    facts.number = trace.requests++;
    keep(facts);
    field("request", facts.number);
}

struct request_facts *take_requests(int count, const MPI_Request *requests)
{
    if (!trace.is_on || depth != 1 || count < 0 || (count && !requests))
        return NULL;
    struct request_facts *facts = memory((sizeof *facts + sizeof(MPI_Status)) * (size_t)count);
    pthread_mutex_lock(&trace.lock);
    for (int i = 0; i < count; i++)
        facts[i] = take(requests[i]);
    pthread_mutex_unlock(&trace.lock);
    return facts;
}

MPI_Status *room_for_statuses(int count, struct request_facts *facts)
{
    return (MPI_Status *)(facts + count);
}

static void got(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    int is_cancelled;
    PMPI_Test_cancelled(status, &is_cancelled);
    if (is_cancelled) {
        put("null");
        return;
    }
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    put("[");
    put_number(partner(status->MPI_SOURCE));
    put(",");
    put_number(status->MPI_TAG == MPI_ANY_TAG ? ANY : status->MPI_TAG);
    put(",");
    put_number(bytes > 0 ? bytes : 0);
    put("]");
}

void got_field(const MPI_Status *status)
{
    put_name("", "got");
    got(status);
}

/* Keeps the requests that are open, and frees `facts`; under the lock. */
static void keep_all(int count, struct request_facts *facts)
{
    for (int i = 0; i < count; i++)
        if (facts[i].number >= 0)
            keep(facts[i]);
    free(facts);
}

void completed_fields(int count, struct request_facts *facts, int completed, const int *indices,
                      const MPI_Status *statuses)
{
    const char *separator = "";
    put(",\"requests\":[");
    for (int i = 0; i < completed; i++) {
        const struct request_facts *one = &facts[indices ? indices[i] : i];
        if (one->number >= 0) {
            put(separator);
            put_number(one->number);
            separator = ",";
        }
    }
    put("],\"got\":[");
    separator = "";
    for (int i = 0; i < completed; i++) {
        struct request_facts *one = &facts[indices ? indices[i] : i];
        if (one->number < 0)
            continue;
        put(separator);
        separator = ",";
        if (one->comm)
            set_number(*one->comm, one->comm_number);
        if (one->is_receive)
            got(&statuses[i]);
        else
            put("null");
        if (!one->is_persistent)
            one->number = -1;
    }
    put("]");
    keep_all(count, facts);
}

void keep_requests(int count, struct request_facts *facts)
{
    if (!facts)
        return;
    pthread_mutex_lock(&trace.lock);
    keep_all(count, facts);
    pthread_mutex_unlock(&trace.lock);
}

/* Messages that a probe matched. A list suffices: there are few at a time. */

void keep_message(MPI_Message handle, MPI_Comm comm, const MPI_Status *status)
{
    if (handle == MPI_MESSAGE_NO_PROC)
        return;
    int is_known;
    struct message *message = memory(sizeof *message);
    *message = (struct message){handle, {number_of(comm, &is_known), status->MPI_SOURCE, status->MPI_TAG}, trace.messages};
    trace.messages = message;
}

struct message_facts take_message(MPI_Message handle)
{
    struct message_facts facts = {0, NOBODY, ANY};
    if (!trace.is_on || depth != 0)
        return facts;
    pthread_mutex_lock(&trace.lock);
    for (struct message **place = &trace.messages; *place; place = &(*place)->next)
        if ((*place)->handle == handle) {
            struct message *entry = *place;
            facts = entry->facts;
            *place = entry->next;
            free(entry);
            break;
        }
    pthread_mutex_unlock(&trace.lock);
    return facts;
}

void matched_fields(struct message_facts facts)
{
    field("comm", facts.comm);
    field("peer", facts.peer);
    field("tag", facts.tag);
}

void named_fields(int count, const MPI_Request *requests)
{
    const char *separator = "";
    put(",\"requests\":[");
    for (int i = 0; i < count; i++) {
        struct request_facts facts = take(requests[i]);
        if (facts.number < 0)
            continue;
        keep(facts);
        put(separator);
        put_number(facts.number);
        separator = ",";
    }
    put("]");
}

/* Clocks */

/* Seconds to add to this clock to get the clock of rank 0. */
static double clock_offset_s(void)
{
    double offset_s = 0, trip_s;
    for (int other = 1; other < trace.ranks; other++)
        if (trace.rank == 0 || trace.rank == other)
            offset_s -= measured_offset_s(trace.comm, trace.rank, other, PING_PONGS, &trip_s);
    return offset_s;
}

/* Beginning and end */

void trace_begin(void)
{
    const char *path = getenv("HOCKET_TRACE");
    int is_set = path && *path;
    if (trace.is_on)
        return;
    depth++;
    PMPI_Comm_rank(MPI_COMM_WORLD, &trace.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &trace.ranks);
    if (trace.rank == 0 && is_set && !(trace.file = fopen(path, "wb")))
        fprintf(stderr, "hocket: HOCKET_TRACE: %s: %s; nothing is traced\n", path, strerror(errno));
    is_set = trace.file != NULL;
    PMPI_Bcast(&is_set, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (is_set) {
        if (!(trace.lines = tmpfile()))
            fail("trace: cannot create a temporary file", strerror(errno));
        setvbuf(trace.lines, NULL, _IOFBF, 1 << 20);
        PMPI_Comm_dup(MPI_COMM_WORLD, &trace.comm);
        PMPI_Comm_group(MPI_COMM_WORLD, &trace.world);
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &trace.keyval, NULL);
        set_number(MPI_COMM_WORLD, trace.comms++);
        set_number(MPI_COMM_SELF, trace.comms++);
        trace.offset_s = clock_offset_s();
        PMPI_Barrier(trace.comm);
        trace.origin_s = PMPI_Wtime();
        double first_s = trace.origin_s;
        PMPI_Bcast(&first_s, 1, MPI_DOUBLE, 0, trace.comm);
        /* From here on the offset is between times since the two origins. */
        trace.offset_s += trace.origin_s - first_s;
        trace.is_on = 1;
        line_begins("MPI_Init", 0, 0);
        fputs("}\n", trace.lines);
    }
    depth--;
}

static void write_header(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING], date[32];
    int length;
    time_t now = time(NULL);
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = 0;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    FILE *lines = trace.lines;
    trace.lines = trace.file;
    fprintf(trace.file, "{\"format\":\"hocket-trace\",\"version\":%d,\"ranks\":%d", VERSION, trace.ranks);
    text_field("program", program_invocation_short_name);
    text_field("mpi", library);
    text_field("date", date);
    fputs("}\n", trace.file);
    trace.lines = lines;
}

/* Sends the lines of this process in pieces, its first line before; an empty piece ends them. */
static void send_lines(const char *first_line, char *piece)
{
    size_t bytes;
    PMPI_Send(first_line, (int)strlen(first_line), MPI_BYTE, 0, 0, trace.comm);
    do {
        bytes = fread(piece, 1, CHUNK_BYTES, trace.lines);
        PMPI_Send(piece, (int)bytes, MPI_BYTE, 0, 0, trace.comm);
    } while (bytes);
}

static int gather_lines(const char *first_line, char *piece)
{
    size_t bytes;
    int is_written = fputs(first_line, trace.file) >= 0;
    while ((bytes = fread(piece, 1, CHUNK_BYTES, trace.lines)))
        is_written &= fwrite(piece, 1, bytes, trace.file) == bytes;
    for (int other = 1; other < trace.ranks; other++) {
        int count;
        do {
            MPI_Status status;
            PMPI_Recv(piece, CHUNK_BYTES, MPI_BYTE, other, 0, trace.comm, &status);
            PMPI_Get_count(&status, MPI_BYTE, &count);
            is_written &= fwrite(piece, 1, (size_t)count, trace.file) == (size_t)count;
        } while (count);
    }
    return is_written;
}

/* A line about this process, before its calls; the caller frees it. */
static char *line_of_rank(double end_offset_s)
{
    char host[256] = "", *line = NULL;
    size_t bytes;
    FILE *lines = trace.lines;
    if (!(trace.lines = open_memstream(&line, &bytes)))
        fail("trace", "out of memory");
    gethostname(host, sizeof host - 1);
    fprintf(trace.lines, "{\"rank\":%d,\"calls\":%lld,\"clock_offset_s\":[%.9f,%.9f]", trace.rank, trace.calls,
            trace.offset_s, end_offset_s);
    text_field("host", host);
    fputs("}\n", trace.lines);
    fclose(trace.lines);
    trace.lines = lines;
    return line;
}

void trace_end(void)
{
    if (!trace.is_on)
        return;
    depth++;
    double end_s = now_s(), first_s = trace.origin_s;
    trace.is_on = 0;
    write_looks();
    line_begins("MPI_Finalize", end_s, end_s);
    fputs("}\n", trace.lines);
    PMPI_Bcast(&first_s, 1, MPI_DOUBLE, 0, trace.comm);
    char *first_line = line_of_rank(clock_offset_s() + trace.origin_s - first_s), *piece = memory(CHUNK_BYTES);
    if (fflush(trace.lines))
        fail("trace: cannot write a temporary file", strerror(errno));
    rewind(trace.lines);
    if (trace.rank == 0) {
        write_header();
        int is_written = gather_lines(first_line, piece);
        if (fclose(trace.file) || !is_written)
            fprintf(stderr, "hocket: HOCKET_TRACE: %s: %s\n", getenv("HOCKET_TRACE"), strerror(errno));
    } else {
        send_lines(first_line, piece);
    }
    free(piece);
    free(first_line);
    fclose(trace.lines);
    PMPI_Group_free(&trace.world);
    PMPI_Comm_free(&trace.comm);
    depth--;
}
