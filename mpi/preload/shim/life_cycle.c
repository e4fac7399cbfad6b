/* Beginning and end: reads the settings of the process from the environment. All ranks get the same settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "persistent.h"
#include "presence.h"
#include "started_calls.h"
#include "transport.h"
#include "types.h"

/* What a rank tells all others when it begins. */
struct greeting {
    /* The lowest rank on its node. */
    int node;
    int has_problem, leaves_started, has_threads;
    /* Of rank 0: whether the job has a log, and the length of its texts of rules. */
    int log_job, rules_length;
};

/* Names of files and their texts, each with 0 at its end. */
struct texts {
    char *bytes;
    int length;
};

/* Adds a name and the text of its file; returns what is wrong with the file, or NULL. Only regular files: others may
 * have no end, or block at opening. */
static const char *add_text(struct texts *texts, const char *name)
{
    struct stat about;
    size_t name_length = strlen(name) + 1;
    FILE *stream = stat(name, &about) == 0 && S_ISREG(about.st_mode) ? fopen(name, "rb") : NULL;
    if (!stream || about.st_size > MOST_AT_ONCE - texts->length) {
        if (stream)
            fclose(stream);
        return "cannot be read";
    }
    texts->bytes = resize(texts->bytes, (size_t)texts->length + name_length + (size_t)about.st_size + 1);
    char *at = texts->bytes + texts->length;
    memcpy(at, name, name_length);
    size_t length = fread(at + name_length, 1, (size_t)about.st_size, stream);
    fclose(stream);
    at[name_length + length] = 0;
    texts->length += (int)(name_length + length + 1);
    return strlen(at + name_length) < length ? "is binary" : NULL;
}

/* Reads the files that HOCKET_RULES names, separated by colons. Rank 0 reads them for all ranks: the files of ranks may
 * differ, but their choices must agree. */
static void read_rules(struct texts *texts, char *problem, size_t room)
{
    const char *value = getenv("HOCKET_RULES"), *wrong = NULL;
    char *names = strdup(value ? value : ""), *rest = names, *file;
    while (!wrong && (file = strsep(&rest, ":"))) {
        wrong = *file ? add_text(texts, file) : NULL;
        if (wrong)
            snprintf(problem, room, "HOCKET_RULES: %s: %s, expected a rule file", file, wrong);
    }
    free(names);
}

/* Earlier files win. */
static void add_rules(const struct texts *texts, char *problem, size_t room)
{
    for (const char *name = texts->bytes; name < texts->bytes + texts->length && !*problem;) {
        const char *text = name + strlen(name) + 1;
        hocket_add_rules(text, name, problem, room);
        name = text + strlen(text) + 1;
    }
}

static void read_shared_memory(char *problem, size_t room)
{
    const char *setting = getenv("HOCKET_SHARED_MEMORY");
    shim.shares_memory = !setting || !*setting || strcmp(setting, "on") == 0;
    if (!shim.shares_memory && strcmp(setting, "off") != 0)
        snprintf(problem, room, "HOCKET_SHARED_MEMORY: got \"%s\", expected on or off", setting);
}

/* Returns the lowest rank on this node. Also finds out whether its ranks may need more processors than it has. */
static int find_node(void)
{
    MPI_Comm node_comm;
    MPI_Group group, world;
    int on_node, first = 0, lowest;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_comm);
    PMPI_Comm_size(node_comm, &on_node);
    PMPI_Comm_group(node_comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &first, world, &lowest);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    PMPI_Comm_free(&node_comm);
    shim.is_crowded = shim.has_threads || on_node > sysconf(_SC_NPROCESSORS_ONLN);
    return lowest;
}

/* Gets the settings of all ranks. Returns the first rank with a problem, or -1. */
static int greet(struct greeting own, struct texts *texts)
{
    int ranks, first = -1;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct greeting *all = resize(NULL, sizeof *all * (size_t)ranks);
    PMPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    shim.nodes = resize(NULL, sizeof(int) * (size_t)ranks);
    for (int i = 0; i < ranks; i++) {
        shim.nodes[i] = all[i].node;
        shim.leaves_started |= all[i].leaves_started;
        shim.some_have_threads |= all[i].has_threads;
        first = first < 0 && all[i].has_problem ? i : first;
    }
    shim.log_job = all[0].log_job;
    texts->length = first < 0 ? all[0].rules_length : 0;
    free(all);
    if (texts->length) {
        texts->bytes = resize(texts->bytes, (size_t)texts->length);
        PMPI_Bcast(texts->bytes, texts->length, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    return first;
}

/* Reads the settings. The ranks meet as rarely as possible: two ranks with different thread levels may disagree on how
 * MPICH runs later collectives. */
static void read_settings(void)
{
    static char problem[512];
    struct texts rules = {NULL, 0};
    struct greeting own = {find_node(), .leaves_started = shim.leaves_started, .has_threads = shim.has_threads};
    if (shim.world_rank == 0) {
        read_rules(&rules, problem, sizeof problem);
        own.rules_length = rules.length;
        own.log_job = has_job_log();
    }
    if (!*problem)
        read_log(problem, sizeof problem);
    if (!*problem)
        read_shared_memory(problem, sizeof problem);
    own.has_problem = *problem != 0;
    int first = greet(own, &rules);
    if (first < 0) {
        add_rules(&rules, problem, sizeof problem);
        first = *problem ? 0 : -1;
    }
    free(rules.bytes);
    if (first >= 0)
        shim.off = "switched off by an error";
    if (first == shim.world_rank)
        print_line("%s; all calls are left to MPI", problem);
}

/* Sessions that are open. */
static int sessions;

void shim_leave_started(void)
{
    shim.leaves_started = 1;
}

void shim_begin(void)
{
    int *most, is_set, level;
    PMPI_Comm_rank(MPI_COMM_WORLD, &shim.world_rank);
    if (shim.is_ready || !are_all_present())
        return;
    PMPI_Query_thread(&level);
    shim.has_threads = level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_set);
    shim.most_operations = (unsigned)(is_set ? *most : 32767) / TAGS_PER_OPERATION / FORMS - 1;
    begin_communicators();
    read_settings();
    end_presence();
    begin_job_log();
    begin_types();
    shim.is_ready = 1;
    note_idle_rules();
    shim_made(MPI_COMM_WORLD);
    shim_made(MPI_COMM_SELF);
}

void shim_end(void)
{
    if (!shim.is_ready)
        return;
    end_started_calls();
    forget_all();
    reap_ended();
    end_operators();
    print_summary();
    end_job_log();
    end_communicators();
    end_types();
    free(shim.nodes);
    shim.is_ready = shim.log_summary = shim.log_job = 0;
    note_idle_rules();
}

#ifdef HAS_SESSIONS
void shim_begin_session(MPI_Session session)
{
    static char problem[512];
    MPI_Group world;
    sessions++;
    if (shim.is_ready || PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS)
        return;
    PMPI_Group_rank(world, &shim.world_rank);
    PMPI_Group_free(&world);
    read_log(problem, sizeof problem);
    if (*problem && shim.world_rank == 0)
        print_line("%s", problem);
}

void shim_end_session(void)
{
    if (--sessions > 0 || shim.is_ready)
        return;
    print_summary();
    shim.log_summary = 0;
}
#endif
