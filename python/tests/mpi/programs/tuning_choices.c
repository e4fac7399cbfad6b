/* Preloaded in front of Open MPI: prints the rules that its component `tuned` looks up, and the algorithms that it
 * runs.
 *
 * Rank 0 prints `rule ALGORITHM BYTES SEGMENT` per look-up in a file of rules, `run FUNCTION ALGORITHM VALUES` per algorithm,
 * and `base NAME` for some functions of algorithms. The library declares none of these functions; each of their
 * arguments fits a word.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long word;
typedef int any(word, word, word, word, word, word, word, word, word, word, word, word, word, word);

static any *library_function(const char *name)
{
    any *found = (any *)dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "no %s in the library\n", name);
        abort();
    }
    return found;
}

static int is_rank_0(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank && !strcmp(rank, "0");
}

int ompi_coll_tuned_get_target_method_params(void *rules, size_t bytes, int *fan, int *segment, int *requests)
{
    static int (*library)(void *, size_t, int *, int *, int *);
    if (!library)
        *(any **)&library = library_function("ompi_coll_tuned_get_target_method_params");
    int algorithm = library(rules, bytes, fan, segment, requests);
    if (is_rank_0())
        fprintf(stderr, "rule %d %zu %d\n", algorithm, bytes, *segment);
    return algorithm;
}

/* A function with `before` arguments, the number of its algorithm, and `values` more. */
#define DO_THIS(function, before, values)                                                                      \
    int ompi_coll_tuned_##function##_intra_do_this(word a, word b, word c, word d, word e, word f, word g,     \
                                                   word h, word i, word j, word k, word l, word m, word n)     \
    {                                                                                                          \
        static any *library;                                                                                   \
        if (!library)                                                                                          \
            library = library_function("ompi_coll_tuned_" #function "_intra_do_this");                         \
        word all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n};                                               \
        if (is_rank_0()) {                                                                                     \
            fprintf(stderr, "run %s %d", #function, (int)all[before]);                                         \
            for (int at = 1; at <= values; at++)                                                               \
                fprintf(stderr, " %d", (int)all[before + at]);                                                 \
            fprintf(stderr, "\n");                                                                             \
        }                                                                                                      \
        return library(a, b, c, d, e, f, g, h, i, j, k, l, m, n);                                              \
    }

DO_THIS(allgather, 8, 2)
DO_THIS(allgatherv, 9, 2)
DO_THIS(allreduce, 7, 2)
DO_THIS(alltoall, 8, 3)
DO_THIS(alltoallv, 10, 0)
DO_THIS(barrier, 2, 2)
DO_THIS(bcast, 6, 2)
DO_THIS(exscan, 7, 0)
DO_THIS(gather, 9, 2)
DO_THIS(reduce, 8, 3)
DO_THIS(reduce_scatter, 7, 2)
DO_THIS(reduce_scatter_block, 7, 2)
DO_THIS(scan, 7, 0)
DO_THIS(scatter, 9, 2)

#define BASE(name)                                                                                             \
    int ompi_coll_base_##name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j)  \
    {                                                                                                          \
        static any *library;                                                                                   \
        if (!library)                                                                                          \
            library = library_function("ompi_coll_base_" #name);                                               \
        if (is_rank_0())                                                                                       \
            fprintf(stderr, "base %s\n", #name);                                                               \
        return library(a, b, c, d, e, f, g, h, i, j, 0, 0, 0, 0);                                              \
    }

BASE(allreduce_intra_basic_linear)
BASE(allreduce_intra_recursivedoubling)
BASE(bcast_intra_basic_linear)
BASE(reduce_intra_basic_linear)
