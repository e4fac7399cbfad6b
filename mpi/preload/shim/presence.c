/* Presence. Before MPI is initialised, each rank holds a socket with an abstract name, made of its node, its job and its
 * number on the node. MPI's initialisation lets no rank pass before all have begun it, so that afterwards a name that is
 * missing belongs to a rank without the library. Ranks of other nodes are expected at a barrier for a limited time. */
#include "presence.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "process.h"

/* How long to look for a rank of this node, as MPI may be set not to wait for all, and to wait for other nodes. */
enum { LOOKS = 200, PAUSE_US = 10000, MOST_S_OF_NODES = 60 };

static int holder = -1;

static int number_in(const char *variable)
{
    const char *value = getenv(variable);
    return value ? atoi(value) : -1;
}

#ifdef OPEN_MPI
static const char own_variable[] = "OMPI_COMM_WORLD_LOCAL_RANK", ranks_variable[] = "OMPI_COMM_WORLD_LOCAL_SIZE";

static void write_job(char *job, size_t room)
{
    const char *name = getenv("PMIX_NAMESPACE");
    snprintf(job, room, "%s", name ? name : "");
}
#else
static const char own_variable[] = "MPI_LOCALRANKID", ranks_variable[] = "MPI_LOCALNRANKS";

/* The job is the process of the launcher that started the ranks of this node, perhaps through others. */
static void write_job(char *job, size_t room)
{
    char path[32], name[16] = "";
    int pid = getpid(), parent = getppid();
    for (*job = 0; parent > 1 && strcmp(name, "hydra_pmi_proxy");) {
        pid = parent;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%15[^)]) %*c %d", name, &parent) != 2)
            parent = 0;
        if (file)
            fclose(file);
    }
    if (strcmp(name, "hydra_pmi_proxy") == 0)
        snprintf(job, room, "%d", pid);
}
#endif

/* Writes the name of a rank of this node; returns its length, 0 if the launcher does not tell the job. */
static socklen_t write_name(struct sockaddr_un *name, int number)
{
    char job[64], host[32] = "";
    write_job(job, sizeof job);
    gethostname(host, sizeof host - 1);
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "hocket-%s-%s-%d", host, job, number);
    return *job && number >= 0 ? (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length) : 0;
}

void shim_be_present(void)
{
    struct sockaddr_un name;
    socklen_t length = write_name(&name, number_in(own_variable));
    if (holder < 0 && length && (holder = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) >= 0)
        bind(holder, (struct sockaddr *)&name, length);
}

void end_presence(void)
{
    close(holder);
    holder = -1;
}

static int is_present(int number)
{
    struct sockaddr_un name;
    socklen_t length = write_name(&name, number);
    int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int is = file < 0 || connect(file, (struct sockaddr *)&name, length) == 0;
    if (file >= 0)
        close(file);
    return is;
}

/* The first rank of this node without the library; -1 if all have it, or the launcher tells nothing of them. */
static int first_missing(void)
{
    int number = 0, ranks = holder < 0 ? 0 : number_in(ranks_variable);
    for (int looks = 0; number < ranks && looks < LOOKS;)
        if (is_present(number))
            number++;
        else if (++looks < LOOKS)
            usleep(PAUSE_US);
    return number < ranks ? number : -1;
}

static int have_all_come(void)
{
    MPI_Request request;
    int flag = 0;
    double end_s = PMPI_Wtime() + MOST_S_OF_NODES;
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag && PMPI_Wtime() < end_s) {
        PMPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        sched_yield();
    }
    return flag;
}

int are_all_present(void)
{
    int ranks, missing = first_missing();
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_one_node = number_in(ranks_variable) == ranks && holder >= 0;
    if (missing < 0 && (is_one_node || ranks == 1 || have_all_come()))
        return 1;
    int before = 0;
    while (before < number_in(own_variable) && !is_present(before))
        before++;
    if (before >= number_in(own_variable)) /* no rank of this node before this one has the library to say so */
        print_line("rank %d: some ranks do not have the library, expected LD_PRELOAD on all ranks; %s", shim.world_rank,
                   is_one_node ? "all calls are left to MPI" : "the job ends");
    if (!is_one_node) {
        sleep(1); /* the rank that speaks does so meanwhile */
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    return 0;
}
