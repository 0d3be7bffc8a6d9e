#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "played.h"

#include "tests/unit/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void play_scenario(struct played *played, double seconds_ago, const char *text)
{
    *played = (struct played){.folder = "/tmp/gpu-test.XXXXXX"};
    scenario_file(played->folder, seconds_ago, text, &played->truth);
}

void play(struct played *played, const char *library, const char *device, double seconds_ago,
          const char *text)
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
