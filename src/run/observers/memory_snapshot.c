/* The snapshot of PyTorch's memory after that ran out. */
#include "run/lane.h"

#include <fcntl.h>
#include <sys/stat.h>

/* {"file", "bytes"}, or null. Ignores links. */
static json_t *snapshot_end(struct lane *lane)
{
    const struct attempt *attempt = &lane->attempt;
    struct stat status;
    if (!attempt->experiment->foreground.memory_snapshot || attempt->folder < 0 ||
        fstatat(attempt->folder, SNAPSHOT_NAME, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
        return json_null();
    return json_pack("{s:s, s:I}", "file", SNAPSHOT_NAME, "bytes", (json_int_t)status.st_size);
}

const struct observer snapshot_observer = {.key = "snapshot", .end = snapshot_end};
