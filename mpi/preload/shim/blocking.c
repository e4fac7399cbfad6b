/* Blocking calls: the calling thread runs each from beginning to end. */
#include <sched.h>

#include "log.h"
#include "started_calls.h"

THREAD_CACHE double last_complete_for_s;

double hocket_last_complete_for_s(void)
{
    return last_complete_for_s;
}

static void run(struct operation *operation)
{
    place(operation);
    start(operation);
    while (!advance(operation, !shim_polls())) {
        shim_progress();
        if (shim.is_crowded)
            sched_yield();
    }
    last_complete_for_s = hocket_complete_for_s(operation->program);
    log_ran(operation);
}

int shim_run(struct call *call)
{
    struct operation operation;
    reap_ended();
    if (!prepare(&operation, call) || !has_private_for(&operation))
        return 0;
    int refused = report_refused(call);
    if (call->is_absent)
        operation.is_done = 1;
    else
        run(&operation);
    finish(&operation);
    if (call->code != MPI_SUCCESS)
        shim_call_handler(call->comm, call->code);
    else
        call->code = refused;
    return 1;
}

int shim_left(const struct call *call, int code)
{
    if (is_counting())
        log_left(call);
    else if (shim.is_ready && !shim.off && code == MPI_SUCCESS)
        shim_learn_left(call->comm);
    return code;
}
