#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "played.h"

#include "base/clock.h"

#include "../folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void play_scenario(struct played *played, double seconds_ago, const char *text)
{
    char path[128], why[256] = "";
    *played = (struct played){0};
    strcpy(played->folder, "/tmp/gpu-test.XXXXXX");
    assert_non_null(mkdtemp(played->folder));
    snprintf(path, sizeof path, "%s/users", played->folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/scenario", played->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    int64_t origin_ns = clock_monotonic_ns() - (int64_t)(seconds_ago * 1e9);
    fprintf(file, "origin_ns %" PRId64 "\nusers %s/users\n", origin_ns, played->folder);
    for (const char *at = text; *at;) {
        const char *word = strstr(at, "FOLDER");
        size_t length = word ? (size_t)(word - at) : strlen(at);
        fwrite(at, 1, length, file);
        if (word)
            fputs(played->folder, file);
        at += length + (word ? 6 : 0);
    }
    assert_int_equal(fclose(file), 0);
    setenv("TARE_FAKE_NVML", path, 1);
    if (!fake_scenario_read(path, &played->truth, why))
        fail_msg("%s", why);
}

void play(struct played *played, const char *library, const char *device, double seconds_ago, const char *text)
{
    struct err err = {0};
    play_scenario(played, seconds_ago, text);
    played->driver = nvml_backend.open(library ? library : FAKE_NVML, &err);
    if (!played->driver)
        fail_msg("%s", err.text);
    played->sensor = nvml_backend.sensor_open(played->driver, device, &err);
    if (!played->sensor)
        fail_msg("%s", err.text);
}

void play_end(struct played *played)
{
    nvml_backend.sensor_close(played->sensor);
    nvml_backend.close(played->driver);
    folder_remove(played->folder);
}

void play_user(struct played *played, int pid, const char *line)
{
    char path[128], hidden[128];
    snprintf(path, sizeof path, "%s/users/%d", played->folder, pid);
    snprintf(hidden, sizeof hidden, "%s/users/.new", played->folder);
    FILE *file = fopen(hidden, "w");
    assert_non_null(file);
    fputs(line, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(hidden, path), 0);
}
