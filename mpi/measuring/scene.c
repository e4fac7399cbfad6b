#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scene.h"
#include "timing.h"
#include "together.h"

/* The lead of a start that ranks sleep for. Ranks that wake up later begin late; their sample counts. */
#define SLEEPING_LEAD_S 20e-3
/* Ranks that sleep look this often whether a call has ended. */
#define LOOK_S 50e-6

enum { MOST_AT_A_TIME = 32 };

const char *scene_field;
int patterns = 1, are_nonblocking;
static int calls = 1, at_a_time = 1, parts, begin_count, end_count, has_director;
static double every_s = -1, computing_s, *late_s;
static MPI_Request requests[MOST_AT_A_TIME];

/* The values of a sample: ends and begins of the calls in seconds after the start, and the first begin with its sign
 * changed, in one array. */
struct sample {
    double *ends_s, *begins_s, *first_s;
};

/* This rank's values, and of each the largest of all ranks. */
static struct sample own, all;

static struct sample room_for_sample(void)
{
    double *values = room(sizeof *values * (size_t)(2 * calls + 1));
    return (struct sample){values, values + calls, values + 2 * calls};
}

static const char *next(const char *separators)
{
    const char *word = strtok(NULL, separators);
    if (!word)
        fail("scene", "expected another value");
    return word;
}

static void read_late(void)
{
    scene_field = "arriving_s";
    patterns = atoi(next(":"));
    late_s = room(sizeof *late_s * (size_t)(patterns * ranks));
    for (int i = 0; i < patterns * ranks; i++)
        late_s[i] = atof(next(":,"));
}

static void read_cadence(void)
{
    scene_field = "interval_s";
    calls = atoi(next(":"));
    every_s = atof(next(":"));
    at_a_time = atoi(next(":"));
    computing_s = atof(next(":"));
    parts = atoi(next(":"));
    if (at_a_time > MOST_AT_A_TIME)
        fail("scene", "expected at most 32 calls at a time");
    are_nonblocking = at_a_time > 1 || parts > 0;
    results = at_a_time;
}

void read_scene(char *text)
{
    const char *kind = strtok(text, ":");
    has_director = strcmp(kind, "director") == 0;
    if (has_director)
        kind = next(":");
    if (strcmp(kind, "late") == 0)
        read_late();
    else if (strcmp(kind, "cadence") == 0)
        read_cadence();
    own = room_for_sample();
    all = room_for_sample();
}

int nonblocking_call(void)
{
    MPI_Request request;
    begin_nonblocking(0, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void prepare_nonblocking(MPI_Comm comm)
{
    set_rule("barrier: dissemination");
    MPI_Barrier(comm);
}

/* Says something to the director, the process that started the program. */
static void say(const char *text)
{
    if (!has_director || world_rank != 0)
        return;
    puts(text);
    fflush(stdout);
}

/* The start that the director names, on the common clock. Standard input has it by the monotonic clock of this host. */
static double start_of_director_s(void)
{
    struct timespec now;
    double start_s = 0;
    if (world_rank == 0) {
        if (scanf("%lf", &start_s) != 1)
            fail("start", "expected a time on standard input");
        clock_gettime(CLOCK_MONOTONIC, &now);
        start_s += common_s() - ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    }
    PMPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return start_s;
}

double scene_start_s(int *is_missed)
{
    if (!starts_together)
        lead_s = SLEEPING_LEAD_S;
    PMPI_Barrier(MPI_COMM_WORLD);
    say("{\"asks\":\"start\"}");
    double start_s = has_director ? start_of_director_s() : named_start_s();
    *is_missed = common_s() > start_s;
    return start_s;
}

int end_scene(int is_missed)
{
    int is_any;
    /* Its messages are short, and pass links that are down. */
    PMPI_Allreduce(&is_missed, &is_any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    say(is_any ? "{\"asks\":\"end\",\"is_missed\":true}" : "{\"asks\":\"end\",\"is_missed\":false}");
    return has_director ? is_any : starts_together && must_repeat(is_any);
}

static void note_end(double start_s)
{
    own.ends_s[end_count++] = common_s() - start_s;
}

/* Waits for the oldest call; a blocking call has ended. */
static void end_call(double start_s)
{
    if (are_nonblocking)
        MPI_Wait(&requests[end_count % at_a_time], MPI_STATUS_IGNORE);
    note_end(start_s);
}

/* Ends the oldest call if it has ended. */
static int looks_ended(double start_s)
{
    int has_ended = 0;
    if (begin_count > end_count)
        MPI_Test(&requests[end_count % at_a_time], &has_ended, MPI_STATUS_IGNORE);
    if (has_ended)
        note_end(start_s);
    return has_ended;
}

static void sleep_for(double time_s)
{
    struct timespec nap = {(time_t)time_s, (long)(fmod(time_s, 1) * 1e9)};
    nanosleep(&nap, NULL);
}

/* Waits until a time, and ends calls meanwhile, in turn. */
static void wait_in_turn(double time_s, double start_s)
{
    for (double left_s; (left_s = time_s - common_s()) > 0;)
        if (!looks_ended(start_s) && !starts_together)
            sleep_for(begin_count > end_count ? fmin(left_s, LOOK_S) : left_s);
}

/* Ranks that share processors sleep instead of computing, as long in all, since each sleep may last longer. */
static void compute(double start_s)
{
    double begin_s = common_s(), part_s = computing_s / parts;
    for (int i = 0; i < parts; i++) {
        double end_s = starts_together ? common_s() + part_s : begin_s + part_s * (i + 1);
        for (double left_s; (left_s = end_s - common_s()) > 0;)
            if (!starts_together)
                sleep_for(left_s);
        looks_ended(start_s);
    }
}

static void make_call(double start_s, double due_s)
{
    if (begin_count - end_count == at_a_time)
        end_call(start_s);
    wait_in_turn(start_s + due_s, start_s);
    own.begins_s[begin_count] = common_s() - start_s;
    calls_made++;
    int slot = begin_count++ % at_a_time;
    if (are_nonblocking) {
        begin_nonblocking(slot, &requests[slot]);
        compute(start_s);
    } else {
        call();
        end_call(start_s);
    }
}

void make_calls(double start_s, double first_due_s, double span_s[2])
{
    begin_count = end_count = 0;
    for (int i = 0; i < calls; i++)
        make_call(start_s, first_due_s + fmax(every_s, 0) * i);
    while (end_count < calls)
        end_call(start_s);
    span_s[0] = own.begins_s[0];
    span_s[1] = own.ends_s[calls - 1];
}

static double mean_time_s(void)
{
    double sum_s = 0;
    for (int i = 0; i < calls; i++)
        sum_s += all.ends_s[i] - (every_s < 0 ? all.begins_s[i] : every_s * i);
    return sum_s / calls;
}

/* The time at which so many calls have ended on all ranks. */
static double ended_s(int count)
{
    double last_s = 0;
    for (int i = 0; i < count; i++)
        last_s = fmax(last_s, all.ends_s[i]);
    return last_s;
}

/* Calls at a time may end together, so the interval is between whole groups of them; with fewer than two groups, it
 * counts from the start. */
static double interval_s(void)
{
    int groups = calls / at_a_time, from = groups < 2 ? 0 : groups / 2 * at_a_time;
    int to = groups < 2 ? calls : groups * at_a_time;
    return (ended_s(to) - ended_s(from)) / (to - from);
}

double scene_sample_s(int number, double *field_s)
{
    double own_late_s = late_s ? late_s[number % patterns * ranks + rank] : 0, span_s[2];
    int is_missed;
    do {
        write_input();
        double start_s = scene_start_s(&is_missed);
        make_calls(start_s, own_late_s, span_s);
        *own.first_s = -span_s[0];
    } while (end_scene(is_missed));
    PMPI_Allreduce(own.ends_s, all.ends_s, 2 * calls + 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *field_s = late_s ? *all.begins_s + *all.first_s : interval_s();
    return mean_time_s();
}
