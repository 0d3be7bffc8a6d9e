/* scenario_file: a scenario of the fake driver (tests/fake), in a folder of its own. */
#ifndef TARE_TESTS_SCENARIO_FILE_H
#define TARE_TESTS_SCENARIO_FILE_H

#include "base/clock.h"
#include "near.h"
#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* folder: as mkdtemp takes it. The scenario's time 0 was seconds_ago; FOLDER in the text is the
 * folder. The driver finds it, and out is the truth about it. */
static inline void scenario_file(char *folder, double seconds_ago, const char *text,
                                 struct fake_scenario *out)
{
    char path[128], why[256] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/users", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/scenario", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    int64_t origin_ns = clock_monotonic_ns() - (int64_t)(seconds_ago * 1e9);
    fprintf(file, "origin_ns %" PRId64 "\nusers %s/users\n", origin_ns, folder);
    for (const char *at = text; *at;) {
        const char *word = strstr(at, "FOLDER");
        size_t length = word ? (size_t)(word - at) : strlen(at);
        fwrite(at, 1, length, file);
        if (word)
            fputs(folder, file);
        at += length + (word ? 6 : 0);
    }
    assert_int_equal(fclose(file), 0);
    setenv("TARE_FAKE_NVML", path, 1);
    if (!fake_scenario_read(path, out, why))
        fail_msg("%s", why);
}

#endif
