#include "session/exec_job.h"

#include "base/mem.h"
#include "session/command.h"
#include "session/gpus.h"
#include "plan/config/size.h"
#include "machine/gpu/ledger.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

bool exec_gpu_memory_wanted(const struct exec_gpu_memory *memory)
{
    return memory->limit_text || memory->track || memory->trace;
}

bool exec_gpu_memory_prepare(struct exec_gpu_memory *memory, struct strv *environment, struct err *err)
{
    struct gpu_limit limit = {0};
    if (!exec_gpu_memory_wanted(memory))
        return true;
    if (memory->limit_text && !gpu_limit_parse(memory->limit_text, &limit, err))
        return err_wrap(err, "--gpu-memory-limit");
    if (!gpus_run_cuda(environment, NULL, err))
        return err_wrap(err, "%s", memory->limit_text ? "--gpu-memory-limit" : "GPU memory cannot be followed");
    AUTO_FREE char *library = preload_library(err);
    memory->ledger = library ? ledger_new(library, &limit, err) : NULL;
    if (!memory->ledger)
        return err_wrap(err, "GPU memory cannot be followed");
    char folder[PATH_MAX];
    AUTO_FREE char *trace = memory->trace && memory->trace[0] != '/' && getcwd(folder, sizeof folder)
                                ? mem_printf("%s/%s", folder, memory->trace)
                                : mem_strdup(memory->trace);
    ledger_tell_job(memory->ledger, trace, environment);
    return true;
}

int exec_gpu_memory_fd(const struct exec_gpu_memory *memory)
{
    return memory->ledger ? ledger_fd(memory->ledger) : 0;
}

json_t *exec_gpu_memory_json(const struct exec_gpu_memory *memory)
{
    return memory->ledger ? ledger_json(memory->ledger) : NULL;
}

void exec_gpu_memory_show(const struct exec_gpu_memory *memory)
{
    struct ledger_sum sum;
    if (!memory->ledger)
        return;
    ledger_read(memory->ledger, &sum);
    if (sum.attached == 0) {
        cli_note("GPU memory: no process of the command asked the CUDA driver for any%s",
                 memory->limit_text ? "; one that is linked statically or setuid would not be held to the limit" : "");
        return;
    }
    cli_note("GPU memory: at most %.1f MiB allocated on one GPU by %llu process%s", (double)sum.live_peak / 1048576,
             (unsigned long long)sum.attached, sum.attached == 1 ? "" : "es");
    if (memory->limit_text)
        cli_note("GPU memory: limit %s, %llu request%s refused", memory->limit_text, (unsigned long long)sum.refused,
                 sum.refused == 1 ? "" : "s");
    if (memory->limit_text && sum.context_assumed)
        cli_note("GPU memory: the driver did not tell what the CUDA context holds: it was assumed");
}

void exec_gpu_memory_fini(struct exec_gpu_memory *memory)
{
    ledger_free(memory->ledger);
    memory->ledger = NULL;
}
