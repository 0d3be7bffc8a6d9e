/* A training is asked for a snapshot of its GPU memory when that runs out (docs/reference/memory.md), and what it wrote is picked up. */
#include "run/lane.h"

#include "base/mem.h"

#include <fcntl.h>
#include <sys/stat.h>

void snapshot_ask(const struct attempt *attempt, const char *run_dir, struct strv *env)
{
    AUTO_FREE char *path = mem_printf("%s/%s/%s", run_dir, attempt->experiment->id, SNAPSHOT_NAME);
    if (attempt->experiment->foreground.memory_snapshot)
        strv_env_set(env, "TARE_MEMORY_SNAPSHOT", path);
}

/* {"file", "bytes"} of what the training left, or null; what is a link or no file is left out. */
static json_t *end(struct lane *lane, json_t *ended)
{
    const struct attempt *attempt = &lane->attempt;
    (void)ended;
    struct stat status;
    if (!attempt->experiment->foreground.memory_snapshot || attempt->folder < 0 ||
        fstatat(attempt->folder, SNAPSHOT_NAME, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return json_null();
    return json_pack("{s:s, s:I}", "file", SNAPSHOT_NAME, "bytes", (json_int_t)status.st_size);
}

const struct observer snapshot_observer = {.key = "snapshot", .end = end};
