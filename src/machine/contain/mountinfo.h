/* mountinfo: reads /proc/PID/mountinfo (proc(5)). Pure: bytes in, mounts out. */
#ifndef TARE_MACHINE_CONTAIN_MOUNTINFO_H
#define TARE_MACHINE_CONTAIN_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

struct mount {
    char root[4096];  /* the folder of the file system that is mounted */
    char point[4096]; /* where */
    char type[64];
    char options[1024]; /* of the super block; cut when longer */
};

/* The next mount from *at on, which moves behind it. Lines that do not parse or do not fit are
 * skipped. False: the end. */
bool mountinfo_next(const char **at, const char *end, struct mount *out);

/* Whether the comma list holds this word. */
bool mount_option_has(const char *options, const char *word);

#endif
