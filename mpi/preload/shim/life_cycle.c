/* Beginning and end: reads the settings of the process from the environment. All ranks get the same settings. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "operators.h"
#include "persistent.h"
#include "started.h"
#include "transport.h"
#include "types.h"

/* Reads a text file; returns its length, or -1. Only regular files: others may have no end, or block at opening. */
static int read_text(const char *file, char **text)
{
    struct stat about;
    if (stat(file, &about) || !S_ISREG(about.st_mode) || about.st_size > MOST_AT_ONCE)
        return -1;
    FILE *stream = fopen(file, "rb");
    if (!stream)
        return -1;
    *text = grown(NULL, (size_t)about.st_size);
    size_t length = fread(*text, 1, (size_t)about.st_size, stream);
    fclose(stream);
    return memchr(*text, 0, length) ? -1 : (int)length;
}

/* Adds the rules of a file that rank 0 reads: the files of ranks may differ, but their choices must agree. */
static void add_rules(const char *file, char *problem, size_t room)
{
    int length;
    char *text = NULL;
    if (shim.world_rank == 0)
        length = read_text(file, &text);
    PMPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (length >= 0) {
        text = grown(text, (size_t)length + 1);
        PMPI_Bcast(text, length, MPI_CHAR, 0, MPI_COMM_WORLD);
        text[length] = 0;
        hocket_add_rules(text, file, problem, room);
    } else {
        snprintf(problem, room, "HOCKET_RULES: %s: cannot be read, expected a rule file", file);
    }
    free(text);
}

static void read_shared_memory(char *problem, size_t room)
{
    const char *setting = getenv("HOCKET_SHARED_MEMORY");
    shim.shares_memory = !setting || !*setting || strcmp(setting, "on") == 0;
    if (!shim.shares_memory && strcmp(setting, "off") != 0)
        snprintf(problem, room, "HOCKET_SHARED_MEMORY: got \"%s\", expected on or off", setting);
}

/* HOCKET_RULES of rank 0 names files, separated by colons. Earlier files win. */
static void read_rules(char *problem, size_t room)
{
    const char *named = getenv("HOCKET_RULES");
    char *names = strdup(shim.world_rank == 0 && named ? named : ""), *rest = names;
    for (;;) {
        char *file = strsep(&rest, ":");
        while (file && !*file)
            file = strsep(&rest, ":");
        int has_file = file != NULL;
        PMPI_Bcast(&has_file, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!has_file || *problem)
            break;
        add_rules(file ? file : "HOCKET_RULES", problem, room);
    }
    free(names);
}

/* Finds the ranks of each node, and whether this node has more ranks than processors. */
static void find_nodes(void)
{
    MPI_Comm here;
    int on_node, ranks, lowest = shim.world_rank;
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    PMPI_Comm_size(here, &on_node);
    PMPI_Bcast(&lowest, 1, MPI_INT, 0, here);
    PMPI_Comm_free(&here);
    shim.is_crowded = on_node > sysconf(_SC_NPROCESSORS_ONLN);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    shim.nodes = grown(NULL, sizeof(int) * (size_t)ranks);
    PMPI_Allgather(&lowest, 1, MPI_INT, shim.nodes, 1, MPI_INT, MPI_COMM_WORLD);
}

void shim_leave_started(void)
{
    shim.leaves_started = 1;
}

void shim_begin(void)
{
    static char problem[512];
    int *most, is_set, level;
    if (shim.is_ready)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &shim.world_rank);
    find_nodes();
    PMPI_Query_thread(&level);
    shim.has_threads = level == MPI_THREAD_MULTIPLE;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_set);
    shim.most_operations = (unsigned)(is_set ? *most : 32767) / TAGS_PER_OPERATION / FORMS - 1;
    begin_communicators(&transport);
    read_rules(problem, sizeof problem);
    if (!*problem)
        read_log(problem, sizeof problem);
    if (!*problem)
        read_shared_memory(problem, sizeof problem);
    int least[] = {*problem ? shim.world_rank : INT_MAX, !shim.leaves_started};
    PMPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    shim.leaves_started = !least[1];
    if (least[0] != INT_MAX)
        shim.off = "switched off by an error";
    if (least[0] == shim.world_rank)
        print_line("%s; all calls are left to MPI", problem);
    begin_job_log();
    begin_types();
    shim.is_ready = 1;
    shim_made(MPI_COMM_WORLD);
    shim_made(MPI_COMM_SELF);
}

void shim_end(void)
{
    if (!shim.is_ready)
        return;
    end_started();
    forget_all();
    reap_ended();
    end_operators();
    print_summary();
    end_job_log();
    end_communicators();
    end_types();
    free(shim.nodes);
    shim.is_ready = 0;
}

#ifdef HAS_SESSIONS
/* Sessions that are open. */
static int sessions;

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
    if (--sessions == 0 && !shim.is_ready)
        print_summary();
}
#endif
