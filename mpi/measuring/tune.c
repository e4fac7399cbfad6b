/* Times ways to perform a collective, in turns. Reads an order per line from standard input; prints lines of JSON.
 *
 *     tune TOGETHER PROCESS
 *
 * It runs with the library preloaded. TOGETHER is 1 if ranks start samples at a time that rank 0 names (see timing.h).
 * PROCESS gives the orders, or is 0 on another host than rank 0, which watches it: some launchers outlive it.
 *
 *     variables                       lists the variables of MPI's tools interface that choose algorithms:
 *                                     {"variables":[{"name":N,"about":TEXT,"values":{NAME:NUMBER,..}},..]}
 *     call COLLECTIVE ROOT BYTES      sets the call of all later orders; forgets all ways
 *     way NUMBER rule RULE            a way: a rule of Hocket,
 *     way NUMBER set NAME=VALUE,..    MPI with variables set,
 *     way NUMBER calls NAME           or other collectives, see `compositions`
 *     prove NUMBER                    makes one call and checks it: {"rule":NUMBER,"is_right":B,"has_run":B,
 *                                     "before":TEXT,"after":TEXT}; has_run: the library counts a call of the rule's
 *                                     algorithm, or MPI accepted the call; the texts are the library's counts
 *     rounds COUNT NUMBER,NUMBER,..   makes COUNT rounds with a turn for each way; each round begins with the next way.
 *                                     A turn is an untimed call and a sample: {"rule":NUMBER,"samples_s":[..]} per way
 *     end                             ends the program; so does the end of the input or of PROCESS
 *
 * Variables are set during the turns of a way. Open MPI reads them when a communicator is created: each such way has
 * its own communicator. Where Open MPI's component han takes calls, variables of its component tuned would choose what
 * tuned does on the communicators that han makes; so the ways that set them have communicators without han.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timing.h"

enum { MOST_WAYS = 256, MOST_LINE = 4096, MOST_SETTINGS = 4, MOST_TEXT = 4096, MOST_NAME = 256, WATCH_MS = 500 };

struct setting {
    MPI_T_cvar_handle variable;
    int value, usual;
};

struct way {
    char rule[MOST_LINE];
    int (*function)(void);
    MPI_Comm members;
    struct setting settings[MOST_SETTINGS];
    int setting_count;
    double *samples;
    int is_there;
};

static struct way ways[MOST_WAYS];
static char *middle;
static pid_t orderer;

/* Compositions of other collectives. `middle` has room for the blocks of all ranks. */

static int elements(void)
{
    return (int)(bytes / sizeof(double));
}

static int reduce_and_broadcast(void)
{
    int status = MPI_Reduce(input, result, elements(), MPI_DOUBLE, MPI_SUM, 0, members);
    return status ? status : MPI_Bcast(result, elements(), MPI_DOUBLE, 0, members);
}

/* Reduces and scatters into `part`. Refuses counts that are no multiple of the ranks. */
static int reduce_scatter_to(char *part)
{
    if (elements() % ranks)
        return MPI_ERR_COUNT;
    return MPI_Reduce_scatter_block(input, part, elements() / ranks, MPI_DOUBLE, MPI_SUM, members);
}

static int reduce_scatter_and_allgather(void)
{
    int own = elements() / ranks, status = reduce_scatter_to(middle);
    return status ? status : MPI_Allgather(middle, own, MPI_DOUBLE, result, own, MPI_DOUBLE, members);
}

static int reduce_scatter_and_gather(void)
{
    int own = elements() / ranks, status = reduce_scatter_to(middle);
    return status ? status : MPI_Gather(middle, own, MPI_DOUBLE, result, own, MPI_DOUBLE, root, members);
}

static int allreduce_for_reduce(void)
{
    return MPI_Allreduce(input, rank == root ? result : middle, elements(), MPI_DOUBLE, MPI_SUM, members);
}

static int scatter_and_allgather(void)
{
    int own = (int)bytes / ranks;
    if (bytes % (size_t)ranks)
        return MPI_ERR_COUNT;
    int status = MPI_Scatter(input, own, MPI_BYTE, middle, own, MPI_BYTE, root, members);
    return status ? status : MPI_Allgather(middle, own, MPI_BYTE, result, own, MPI_BYTE, members);
}

static int gather_and_broadcast(void)
{
    int status = MPI_Gather(input, (int)bytes, MPI_BYTE, result, (int)bytes, MPI_BYTE, 0, members);
    return status ? status : MPI_Bcast(result, (int)bytes * ranks, MPI_BYTE, 0, members);
}

static int alltoall_for_allgather(void)
{
    for (int i = 0; i < ranks; i++)
        memcpy(middle + bytes * (size_t)i, input, bytes);
    return MPI_Alltoall(middle, (int)bytes, MPI_BYTE, result, (int)bytes, MPI_BYTE, members);
}

static int allgather_for_gather(void)
{
    return MPI_Allgather(input, (int)bytes, MPI_BYTE, rank == root ? result : middle, (int)bytes, MPI_BYTE, members);
}

static int gatherv(void)
{
    return MPI_Gatherv(input, (int)bytes, MPI_BYTE, result, counts, places, MPI_BYTE, root, members);
}

static int broadcast_for_scatter(void)
{
    char *all = rank == root ? input : middle;
    int status = MPI_Bcast(all, (int)bytes * ranks, MPI_BYTE, root, members);
    memcpy(result, all + bytes * (size_t)rank, bytes);
    return status;
}

static int scatterv(void)
{
    return MPI_Scatterv(input, counts, places, MPI_BYTE, result, (int)bytes, MPI_BYTE, root, members);
}

static int alltoallv(void)
{
    return MPI_Alltoallv(input, counts, places, MPI_BYTE, result, counts, places, MPI_BYTE, members);
}

static int reduce_and_scatter(void)
{
    int own = elements() / ranks, status = MPI_Reduce(input, middle, elements(), MPI_DOUBLE, MPI_SUM, 0, members);
    return status ? status : MPI_Scatter(middle, own, MPI_DOUBLE, result, own, MPI_DOUBLE, 0, members);
}

static int allreduce_for_reduce_scatter(void)
{
    int status = MPI_Allreduce(input, middle, elements(), MPI_DOUBLE, MPI_SUM, members);
    memcpy(result, middle + bytes / (size_t)ranks * (size_t)rank, bytes / (size_t)ranks);
    return status;
}

static int exscan_and_reduce_local(void)
{
    int status = MPI_Exscan(input, result, elements(), MPI_DOUBLE, MPI_SUM, members);
    if (rank == 0)
        memcpy(result, input, bytes);
    return status || rank == 0 ? status : MPI_Reduce_local(input, result, elements(), MPI_DOUBLE, MPI_SUM);
}

static int allreduce_for_barrier(void)
{
    int all, own = 1;
    return MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LAND, members);
}

static const struct {
    const char *collective, *name;
    int (*function)(void);
} compositions[] = {
    {"allgather", "gather + broadcast", gather_and_broadcast},
    {"allgather", "alltoall", alltoall_for_allgather},
    {"allreduce", "reduce + broadcast", reduce_and_broadcast},
    {"allreduce", "reduce_scatter + allgather", reduce_scatter_and_allgather},
    {"alltoall", "alltoallv", alltoallv},
    {"barrier", "allreduce", allreduce_for_barrier},
    {"broadcast", "scatter + allgather", scatter_and_allgather},
    {"gather", "allgather", allgather_for_gather},
    {"gather", "gatherv", gatherv},
    {"reduce", "allreduce", allreduce_for_reduce},
    {"reduce", "reduce_scatter + gather", reduce_scatter_and_gather},
    {"reduce_scatter", "allreduce", allreduce_for_reduce_scatter},
    {"reduce_scatter", "reduce + scatter", reduce_and_scatter},
    {"scan", "exscan + reduce_local", exscan_and_reduce_local},
    {"scatter", "broadcast", broadcast_for_scatter},
    {"scatter", "scatterv", scatterv},
};

/* Variables of the MPI */

static const char tuned_prefix[] = "coll_tuned_", han_prefix[] = "coll_han_use_";

/* Returns whether there are several nodes, and one with several ranks. */
static int has_levels(void)
{
    int own, most;
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &own);
    PMPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    return 1 < most && most < ranks;
}

static int is_about_algorithms(const char *name, int with_han)
{
    size_t length = strlen(name);
    const char *ends[] = {"_INTRA_ALGORITHM", "_DEVICE_COLLECTIVE", "_algorithm", "_algorithm"};
    const char *begins[] = {"MPIR_CVAR_", "MPIR_CVAR_", tuned_prefix, han_prefix};
    for (int i = 0; i < 3 + with_han; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0 && strncmp(name, begins[i], strlen(begins[i])) == 0)
            return 1;
    }
    return 0;
}

static void print_values(MPI_T_enum names)
{
    int count = 0, length = MOST_NAME, value;
    char name[MOST_NAME];
    if (names != MPI_T_ENUM_NULL)
        MPI_T_enum_get_info(names, &count, name, &length);
    for (int i = 0; i < count; i++) {
        length = sizeof name;
        MPI_T_enum_get_item(names, i, &value, name, &length);
        printf(i ? ",\"" : "\"");
        print_text(stdout, name);
        printf("\":%d", value);
    }
}

static void print_variables(int with_han)
{
    int count, is_first = 1;
    MPI_T_cvar_get_num(&count);
    printf("{\"variables\":[");
    for (int i = 0; i < count; i++) {
        char name[MOST_NAME], about[MOST_TEXT];
        int name_length = sizeof name, about_length = sizeof about, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum names;
        if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &names, about, &about_length, &bind, &scope) ||
            !is_about_algorithms(name, with_han) || scope == MPI_T_SCOPE_READONLY || scope == MPI_T_SCOPE_CONSTANT)
            continue;
        printf("%s{\"name\":\"%s\",\"about\":\"", is_first ? "" : ",", name);
        print_text(stdout, about);
        printf("\",\"values\":{");
        print_values(names);
        printf("}}");
        is_first = 0;
    }
    printf("]}\n");
}

static void add_setting(struct way *way, char *text)
{
    char *value = strchr(text, '=');
    int index, count;
    if (!value || way->setting_count == MOST_SETTINGS)
        fail(text, "expected up to 4 settings NAME=VALUE");
    *value++ = '\0';
    struct setting *setting = &way->settings[way->setting_count++];
    if (MPI_T_cvar_get_index(text, &index) || MPI_T_cvar_handle_alloc(index, NULL, &setting->variable, &count))
        fail(text, "is not a control variable (MPI_T) of this MPI");
    setting->value = atoi(value);
    MPI_T_cvar_read(setting->variable, &setting->usual);
}

static void apply(const struct way *way)
{
    for (int i = 0; i < way->setting_count; i++)
        MPI_T_cvar_write(way->settings[i].variable, &way->settings[i].value);
    members = way->members;
}

static void undo(const struct way *way)
{
    for (int i = 0; i < way->setting_count; i++)
        MPI_T_cvar_write(way->settings[i].variable, &way->settings[i].usual);
    members = MPI_COMM_WORLD;
}

/* Orders */

static void forget_ways(void)
{
    for (int i = 0; i < MOST_WAYS; i++) {
        if (!ways[i].is_there)
            continue;
        for (int k = 0; k < ways[i].setting_count; k++)
            MPI_T_cvar_handle_free(&ways[i].settings[k].variable);
        if (ways[i].members != MPI_COMM_WORLD)
            MPI_Comm_free(&ways[i].members);
        ways[i].is_there = 0;
    }
}

static struct way *way_of(const char *text)
{
    int number = atoi(text);
    if (number < 0 || number >= MOST_WAYS)
        fail(text, "expected the number of a way, below 256");
    return &ways[number];
}

static void take_call(char *text)
{
    static char name[MOST_NAME];
    size_t size;
    forget_ways();
    free_buffers();
    free(middle);
    if (sscanf(text, "%255s %d %zu", name, &root, &size) != 3)
        fail(text, "expected COLLECTIVE ROOT BYTES");
    collective = name;
    make_buffers(size);
    middle = room(size * (size_t)ranks + 8);
}

static void take_way(char *text)
{
    struct way *way = way_of(text);
    char *kind = strchr(text, ' ') + 1, *rest = strchr(kind, ' ') + 1;
    *way = (struct way){.function = call, .members = MPI_COMM_WORLD, .is_there = 1};
    snprintf(way->rule, sizeof way->rule, "%s: native", collective);
    if (strncmp(kind, "rule ", 5) == 0) {
        snprintf(way->rule, sizeof way->rule, "%s", rest);
    } else if (strncmp(kind, "calls ", 6) == 0) {
        way->function = NULL;
        for (size_t i = 0; i < sizeof compositions / sizeof *compositions; i++)
            if (is(compositions[i].collective) && strcmp(rest, compositions[i].name) == 0)
                way->function = compositions[i].function;
        if (!way->function)
            fail(rest, "unknown composition for this collective");
    } else {
        MPI_Info info;
        MPI_Info_create(&info);
        if (strncmp(rest, tuned_prefix, strlen(tuned_prefix)) == 0)
            MPI_Info_set(info, "ompi_comm_coll_preference", "^han");
        for (char *setting = strtok(rest, ","); setting; setting = strtok(NULL, ","))
            add_setting(way, setting);
        apply(way);
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &way->members);
        MPI_Comm_set_errhandler(way->members, MPI_ERRORS_RETURN);
        MPI_Info_free(&info);
        undo(way);
    }
}

/* Makes one call without a rule of Hocket, and checks it. */
static void prove_of_mpi(struct way *way, int number)
{
    set_rule(way->rule);
    fill();
    apply(way);
    int status = way->function(), is_taken = status == MPI_SUCCESS, has_run;
    undo(way);
    PMPI_Allreduce(&is_taken, &has_run, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    int right = !has_run || is_right();
    if (rank == 0)
        printf("{\"rule\":%d,\"is_right\":%s,\"has_run\":%s,\"before\":\"\",\"after\":\"\"}\n", number,
               right ? "true" : "false", has_run ? "true" : "false");
}

static void take_prove(char *text)
{
    struct way *way = way_of(text);
    if (way->setting_count || way->function != call)
        prove_of_mpi(way, atoi(text));
    else
        prove(stdout, way->rule, atoi(text), call);
}

static void take_turn(struct way *way, int round)
{
    set_rule(way->rule);
    apply(way);
    sample_s(way->function); /* warms up after another way's calls */
    way->samples[round] = sample_s(way->function);
    undo(way);
}

static void take_rounds(char *text)
{
    int rounds = atoi(text), numbers[MOST_WAYS], count = 0;
    char *list = strchr(text, ' ') + 1;
    for (char *number = strtok(list, ","); number && count < MOST_WAYS; number = strtok(NULL, ",")) {
        numbers[count] = atoi(number);
        way_of(number)->samples = room(sizeof(double) * (size_t)rounds);
        count++;
    }
    for (int round = 0; round < rounds; round++) {
        if (starts_together && !has_one_clock)
            compare_clocks();
        for (int turn = 0; turn < count; turn++)
            take_turn(&ways[numbers[(turn + round) % count]], round);
    }
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            printf("{\"rule\":%d", numbers[i]);
            print_times("samples_s", ways[numbers[i]].samples, rounds);
            printf("}\n");
        }
        free(ways[numbers[i]].samples);
    }
}

/* Returns 1 if the process that gives orders is gone or a zombie: state "Z" after its name in brackets. */
static int is_alone(void)
{
    char name[MOST_NAME], text[MOST_TEXT] = "", *state;
    snprintf(name, sizeof name, "/proc/%d/stat", (int)orderer);
    FILE *file = fopen(name, "r");
    if (!file)
        return kill(orderer, 0) && errno == ESRCH;
    state = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return state && state[1] == ' ' && state[2] == 'Z';
}

/* Waits for input or its end; returns 0 if the process that gives orders is gone. */
static int has_input(void)
{
    struct pollfd waiting = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&waiting, 1, WATCH_MS) <= 0)
        if (orderer && is_alone())
            return 0;
    return 1;
}

/* Reads an order without its end of line; returns its length, 0 at the end. stdio would hide input from poll. */
static int read_order(char *line)
{
    static char input_text[MOST_LINE];
    static int next_place, end_place;
    for (int length = 0; length < MOST_LINE - 1;) {
        if (next_place == end_place) {
            next_place = 0;
            end_place = has_input() ? (int)read(STDIN_FILENO, input_text, sizeof input_text) : 0;
            if (end_place <= 0)
                return end_place = 0;
        }
        char letter = input_text[next_place++];
        if (letter == '\n')
            return length;
        line[length++] = letter;
    }
    return 0;
}

/* Gives the next order to all ranks; returns 0 at the end. */
static int next(char *line)
{
    int length = rank == 0 ? read_order(line) : 0;
    PMPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    PMPI_Bcast(line, length, MPI_CHAR, 0, MPI_COMM_WORLD);
    line[length] = '\0';
    return length > 0 && strcmp(line, "end") != 0;
}

int main(int argc, char **argv)
{
    static char line[MOST_LINE];
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    if (argc != 3)
        fail("arguments", "expected TOGETHER PROCESS");
    begin(atoi(argv[1]));
    orderer = (pid_t)atoi(argv[2]);
    while (next(line)) {
        char *rest = strchr(line, ' ');
        rest = rest ? rest + 1 : line;
        if (strncmp(line, "variables", 9) == 0) {
            int with_han = has_levels();
            if (rank == 0)
                print_variables(with_han);
        }
        else if (strncmp(line, "call ", 5) == 0)
            take_call(rest);
        else if (strncmp(line, "way ", 4) == 0)
            take_way(rest);
        else if (strncmp(line, "prove ", 6) == 0)
            take_prove(rest);
        else if (strncmp(line, "rounds ", 7) == 0)
            take_rounds(rest);
        fflush(stdout);
    }
    forget_ways();
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
