/* The MPI functions of requests. Functions that wait or test advance the nonblocking collectives under way. An array
 * may mix requests of the library and of MPI: MPI sees the library's as inactive. */
#include "shim/shim.h"

#include "wait.h"

/* Writes the empty status of an inactive request. */
static void clear(MPI_Request request, MPI_Status *status)
{
    int flag;
    if (status != MPI_STATUS_IGNORE)
        PMPI_Request_get_status(request, &flag, status);
}

/* Waits for a started request and takes it; an error goes to the error handler of its communicator. */
static int take(MPI_Request request, MPI_Status *status)
{
    MPI_Comm comm;
    int code = shim_take(request, &comm);
    clear(request, status);
    if (code != MPI_SUCCESS)
        shim_call_handler(comm, code);
    return code;
}

/* The first request in a state, or `count`. */
static int first_in(enum state state, int count, const MPI_Request requests[])
{
    int index = requests ? 0 : count;
    while (index < count && shim_state(requests[index]) != state)
        index++;
    return index;
}

/* Another thread may complete a call at any time. So a function first asks whether calls are under way, and then looks
 * for complete ones: then it misses none. */
static int is_any(enum state state, int count, const MPI_Request requests[])
{
    return shim_has_started() && first_in(state, count, requests) < count;
}

static int first_complete(int count, const MPI_Request requests[])
{
    return shim_has_started() ? first_in(COMPLETE, count, requests) : count;
}

/* One */

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return request && shim_state(*request) != IDLE ? take(*request, status) : shim_wait(request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (!request || shim_state(*request) == IDLE)
        return shim_test(request, flag, status);
    shim_progress();
    *flag = shim_state(*request) == COMPLETE;
    return *flag ? take(*request, status) : MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    shim_progress();
    *flag = 0;
    return shim_state(request) == UNDER_WAY ? MPI_SUCCESS : PMPI_Request_get_status(request, flag, status);
}

/* All */

/* Adds the error of the request with status `place` to a function that has returned `code` so far. If there was no
 * error so far, the `count` statuses first get MPI_SUCCESS. Returns the new code. */
static int with_error(int code, int error, int place, int count, MPI_Status statuses[])
{
    if (statuses == MPI_STATUSES_IGNORE)
        return MPI_ERR_IN_STATUS;
    for (int i = 0; code == MPI_SUCCESS && i < count; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    statuses[place].MPI_ERROR = error;
    return MPI_ERR_IN_STATUS;
}

/* Takes the library's complete requests of an array. `code` is the result of MPI for the other requests. */
static int take_all(int count, MPI_Request requests[], MPI_Status statuses[], int code)
{
    for (int i = first_in(COMPLETE, count, requests); i < count; i++) {
        int error = shim_state(requests[i]) == COMPLETE ? take(requests[i], MPI_STATUS_IGNORE) : MPI_SUCCESS;
        if (error != MPI_SUCCESS)
            code = with_error(code, error, i, count, statuses);
    }
    return code;
}

/* One by one while nonblocking collectives may be under way: MPI_Testall of MPICH 5.0.2 fails for its own persistent
 * collectives. */
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int code = MPI_SUCCESS;
    if (count <= 0 || !requests || !shim_polls())
        return PMPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++) {
        int error = MPI_Wait(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
        if (error != MPI_SUCCESS)
            code = with_error(code, error, i, i, statuses);
        else if (code != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    return code;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    shim_progress();
    *flag = 0;
    if (is_any(UNDER_WAY, count, requests))
        return MPI_SUCCESS;
    int code = PMPI_Testall(count, requests, flag, statuses);
    int has_ended = *flag || code != MPI_SUCCESS;
    return has_ended && shim_has_started() ? take_all(count, requests, statuses, code) : code;
}

/* Any */

static int test_any(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    int are_under_way = is_any(UNDER_WAY, count, requests), own = first_complete(count, requests);
    if (own < count) {
        *index = own;
        *flag = 1;
        return take(requests[own], status);
    }
    int code = PMPI_Testany(count, requests, index, flag, status);
    if (*flag && *index == MPI_UNDEFINED && are_under_way)
        *flag = 0;
    return code;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    WAIT(PMPI_Waitany(count, requests, index, status), test_any(count, requests, index, &flag, status));
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    shim_progress();
    return test_any(count, requests, index, flag, status);
}

/* Some */

/* Finds the library's complete requests of an array: returns their number, sets their places and statuses. */
static int find_some(int count, const MPI_Request requests[], int indices[], MPI_Status statuses[])
{
    int own = 0;
    for (int i = first_in(COMPLETE, count, requests); i < count; i++) {
        if (shim_state(requests[i]) != COMPLETE)
            continue;
        clear(requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[own]);
        indices[own++] = i;
    }
    return own;
}

static MPI_Status *after(MPI_Status statuses[], int own)
{
    return statuses == MPI_STATUSES_IGNORE ? statuses : statuses + own;
}

/* The number of ended requests: `own` of the library, and `ended` of MPI, MPI_UNDEFINED if MPI has no active one. */
static int sum_of(int own, int ended, int are_under_way)
{
    if (ended != MPI_UNDEFINED)
        return own + ended;
    return own || are_under_way ? own : MPI_UNDEFINED;
}

static int test_some(int count, MPI_Request requests[], int *ended, int indices[], MPI_Status statuses[])
{
    if (!shim_has_started())
        return PMPI_Testsome(count, requests, ended, indices, statuses);
    int are_under_way = is_any(UNDER_WAY, count, requests);
    int own = find_some(count, requests, indices, statuses), others = 0;
    int code = PMPI_Testsome(count, requests, &others, indices + own, after(statuses, own));
    *ended = sum_of(own, others, are_under_way);
    for (int i = 0; i < own; i++) {
        int error = take(requests[indices[i]], MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS)
            code = with_error(code, error, i, *ended, statuses);
    }
    return code;
}

static int has_some(int code, const int *ended, int *flag)
{
    *flag = *ended != 0;
    return code;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *ended, int indices[], MPI_Status statuses[])
{
    WAIT(PMPI_Waitsome(count, requests, ended, indices, statuses),
         has_some(test_some(count, requests, ended, indices, statuses), ended, &flag));
}

int MPI_Testsome(int count, MPI_Request requests[], int *ended, int indices[], MPI_Status statuses[])
{
    shim_progress();
    return test_some(count, requests, ended, indices, statuses);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* The array of requests of a function, which is not const in Intel MPI's header. The types of further arguments follow. */
#define REQUESTS(name, ...)                                                                                            \
    __typeof__(_Generic(&PMPI_##name, int (*)(int, MPI_Request *, __VA_ARGS__): (MPI_Request *)NULL,                   \
                        default: (const MPI_Request *)NULL))

int MPI_Request_get_status_all(int count, REQUESTS(Request_get_status_all, int *, MPI_Status *) requests, int *flag,
                               MPI_Status statuses[])
{
    shim_progress();
    *flag = 0;
    return is_any(UNDER_WAY, count, requests) ? MPI_SUCCESS
                                              : PMPI_Request_get_status_all(count, requests, flag, statuses);
}

int MPI_Request_get_status_any(int count, REQUESTS(Request_get_status_any, int *, int *, MPI_Status *) requests,
                               int *index, int *flag, MPI_Status *status)
{
    shim_progress();
    int are_under_way = is_any(UNDER_WAY, count, requests), own = first_complete(count, requests);
    if (own < count) {
        *index = own;
        return PMPI_Request_get_status(requests[own], flag, status);
    }
    int code = PMPI_Request_get_status_any(count, requests, index, flag, status);
    if (*flag && *index == MPI_UNDEFINED && are_under_way)
        *flag = 0;
    return code;
}

int MPI_Request_get_status_some(int count, REQUESTS(Request_get_status_some, int *, int *, MPI_Status *) requests,
                                int *ended, int indices[], MPI_Status statuses[])
{
    shim_progress();
    if (!shim_has_started())
        return PMPI_Request_get_status_some(count, requests, ended, indices, statuses);
    int are_under_way = is_any(UNDER_WAY, count, requests);
    int own = find_some(count, requests, indices, statuses), others = 0;
    int code = PMPI_Request_get_status_some(count, requests, &others, indices + own, after(statuses, own));
    *ended = sum_of(own, others, are_under_way);
    return code;
}
#endif

/* Starting and freeing */

int MPI_Start(MPI_Request *request)
{
    int code;
    return request && shim_start_again(*request, &code) ? code : PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[])
{
    if (!shim_has_own())
        return PMPI_Startall(count, requests);
    int code = MPI_SUCCESS;
    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = MPI_Start(&requests[i]);
    return code;
}

int MPI_Request_free(MPI_Request *request)
{
    if (request)
        shim_forget(*request);
    return PMPI_Request_free(request);
}
