/* Times several calls at once, each by a rule and on ranks of its own, and each of them alone. Prints lines of JSON.
 *
 *     jobs SECONDS ROUNDS TOGETHER COLLECTIVE SIZE SCENE RANKS RULE ..
 *
 * It runs with the library preloaded. Five arguments describe a call: the next RANKS ranks make it, with 0 as its root.
 * SCENE is none or a cadence, both as in scene.h; either all calls have a director or none has.
 *
 * First all calls are made at once, counted and checked, and printed as by bench.c, with the number of the call as the
 * rule. Then come an untimed round, ROUNDS rounds, and more within SECONDS. A round plays all calls at once, and then
 * each one alone. Then, for each call: {"call":C,"together_s":[..],"alone_s":[..]}. A time counts from when the last
 * rank begins its first call until the last rank ends its last one. The last line tells the largest error of the
 * clocks: {"clock_error_s":E}.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scene.h"
#include "timing.h"

enum { MOST_ROUNDS = 1000, OF_CALL = 5, FIRST = 4, ALL = -1 };

/* The number of the call of this rank; the calls; the ranks of all of them, and the call of each. */
static int own, count, *of_rank;
/* Begin and end of each rank in a sample. */
static double (*all_s)[2];
/* Times of each call in each round: with all calls at once, and alone. */
static double (*together_s)[MOST_ROUNDS], (*alone_s)[MOST_ROUNDS];

/* Joins the ranks of the same call, and takes that call. */
static const char *take_call(char **argv)
{
    int next = 0;
    of_rank = room(sizeof *of_rank * (size_t)world_ranks);
    for (int number = 0; number < count; number++)
        for (int i = atoi(argv[FIRST + OF_CALL * number + 3]); i > 0 && next < world_ranks; i--)
            of_rank[next++] = number;
    if (next < world_ranks)
        fail("ranks", "expected calls for all ranks");
    own = of_rank[world_rank];
    MPI_Comm_split(MPI_COMM_WORLD, own, world_rank, &members);
    MPI_Comm_rank(members, &rank);
    MPI_Comm_size(members, &ranks);
    blocks = ranks;
    char **mine = argv + FIRST + OF_CALL * own;
    collective = mine[0];
    read_scene(mine[2]);
    make_buffers(strtoull(mine[1], NULL, 10));
    return mine[4];
}

/* Makes all calls at once, and checks them. Only the first rank prints: lines of several ranks could mix. */
static void prove_all(const char *rule)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        fail("jobs", "out of memory");
    prove(out, rule, own, are_nonblocking ? nonblocking_call : call);
    fclose(out);
    if (world_rank != 0)
        PMPI_Send(text, (int)length, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    else
        fwrite(text, 1, length, stdout);
    for (int from = 1, their_length; world_rank == 0 && from < world_ranks; from++) {
        MPI_Status status;
        PMPI_Probe(from, 0, MPI_COMM_WORLD, &status);
        PMPI_Get_count(&status, MPI_CHAR, &their_length);
        char *theirs = room((size_t)their_length + 1);
        PMPI_Recv(theirs, their_length, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fwrite(theirs, 1, (size_t)their_length, stdout);
        free(theirs);
    }
    fflush(stdout);
    free(text);
}

/* Plays one call, or ALL. The first rank then has the begins and ends of all ranks. */
static void play(int number)
{
    int is_missed;
    double own_s[2] = {0, 0};
    do {
        write_input();
        double start_s = scene_start_s(&is_missed);
        if (number == ALL || number == own)
            make_calls(start_s, 0, own_s);
    } while (end_scene(is_missed));
    PMPI_Gather(own_s, 2, MPI_DOUBLE, all_s, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static double time_s(int number)
{
    double begin_s = 0, end_s = 0;
    for (int i = 0; i < world_ranks; i++)
        if (of_rank[i] == number) {
            begin_s = fmax(begin_s, all_s[i][0]);
            end_s = fmax(end_s, all_s[i][1]);
        }
    return end_s - begin_s;
}

static void play_round(int round)
{
    play(ALL);
    for (int number = 0; number < count; number++)
        together_s[number][round] = time_s(number);
    for (int number = 0; number < count; number++) {
        play(number);
        alone_s[number][round] = time_s(number);
    }
}

static int measure(double limit_s, int least_rounds)
{
    play_round(0);
    int rounds = 0, goes_on = 1;
    for (double start_s = PMPI_Wtime(); goes_on; PMPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
        if (!has_one_clock)
            compare_clocks();
        play_round(rounds++);
        goes_on = rounds < least_rounds || (rounds < MOST_ROUNDS && PMPI_Wtime() - start_s < limit_s);
    }
    return rounds;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    count = (argc - FIRST) / OF_CALL;
    if (count < 1 || argc != FIRST + OF_CALL * count)
        fail("arguments", "expected SECONDS ROUNDS TOGETHER, and for each call COLLECTIVE SIZE SCENE RANKS RULE");
    begin(atoi(argv[3]));
    if (!starts_together)
        has_one_clock = compare_clocks();
    all_s = room(sizeof *all_s * (size_t)ranks);
    together_s = room(sizeof *together_s * (size_t)count);
    alone_s = room(sizeof *alone_s * (size_t)count);
    const char *rule = take_call(argv);
    prepare_nonblocking(members);
    prove_all(rule);
    int rounds = measure(atof(argv[1]), atoi(argv[2]));
    for (int number = 0; world_rank == 0 && number < count; number++) {
        printf("{\"call\":%d", number);
        print_times("together_s", together_s[number], rounds);
        print_times("alone_s", alone_s[number], rounds);
        printf("}\n");
    }
    print_clock_error();
    MPI_Comm_free(&members);
    MPI_Finalize();
    return 0;
}
