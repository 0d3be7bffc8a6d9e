#include "fixture.h"
#include "machine/contain/probe.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DEADLINE_S = 60, FILE_LIMIT = 16 << 20 };

int world_make(void **state)
{
    struct world *world = mem_alloc(sizeof *world);
    char root[] = "/tmp/test-run-XXXXXX";
    assert_non_null(mkdtemp(root));
    world->root = mem_strdup(root);
    world->dir_path = mem_printf("%s/run", root);
    world->dir = fs_make_path(world->dir_path, 0777, &world->err);
    assert_true(world->dir >= 0);
    if (!containment_probe(CONTAINMENT_AUTO, &world->containment, &world->err))
        fail_msg("%s", world->err.text);
    strv_env_set(&world->environment, "PATH", "/usr/local/bin:/usr/bin:/bin");
    world->plan.timing.stop_grace_s = 20;
    *state = world;
    return 0;
}

int world_remove(void **state)
{
    struct world *world = *state;
    close(world->dir);
    folder_remove(world->root);
    free(world->root);
    free(world->dir_path);
    plan_fini(&world->plan);
    containment_fini(&world->containment);
    strv_fini(&world->environment);
    json_decref(world->events);
    free(world);
    return 0;
}

static void add_script(struct world *world, struct plan_job *job, const char *name,
                       const char *script)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_printf("%s/%s", world->root, name);
    AUTO_FREE char *text = mem_printf("#!/bin/sh\n%s\n", script);
    AUTO_CLOSE int root = open(world->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!fs_write_atomic(root, name, text, strlen(text), &err) || chmod(path, 0755) != 0)
        fail_msg("%s", err.text);
    job->repo = mem_strdup("repo");
    job->model = mem_strdup("model");
    job->mode = MODE_DEFAULT;
    job->cwd = mem_strdup(world->root);
    job->exit_code_required = true;
    strv_add(&job->argv, path);
    strv_add(&job->argv, world->root);
}

void world_add_background(struct world *world, struct plan_experiment *experiment,
                          const char *script)
{
    AUTO_FREE char *name = mem_printf("%s_background.sh", experiment->id);
    experiment->parallel = true;
    experiment->background = mem_alloc(sizeof *experiment->background);
    add_script(world, experiment->background, name, script);
}

struct plan_experiment *world_add(struct world *world, const char *script)
{
    struct plan *plan = &world->plan;
    plan->experiments = mem_resize(plan->experiments, plan->count + 1, sizeof *plan->experiments);
    struct plan_experiment *experiment = &plan->experiments[plan->count++];
    *experiment = (struct plan_experiment){.number = plan->count};
    experiment->id = mem_printf("repo_model_%03zu", plan->count);
    AUTO_FREE char *name = mem_printf("%s.sh", experiment->id);
    add_script(world, &experiment->foreground, name, script);
    return experiment;
}

void world_add_metric(struct plan_experiment *experiment, const char *name, const char *pattern)
{
    struct plan_job *job = &experiment->foreground;
    job->metrics = mem_resize(job->metrics, job->metric_count + 1, sizeof *job->metrics);
    job->metrics[job->metric_count++] =
        (struct registry_metric){mem_strdup(name), mem_strdup(pattern), GOAL_UNKNOWN};
}

/* What the store adds by itself, and that a check was not made: nothing is measured here. */
static bool is_of_the_fixture(const json_t *event)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    const char *kind = json_string_value(json_object_get(json_object_get(event, "data"), "kind"));
    return strcmp(type, "files_written") == 0 || (kind && strcmp(kind, "check_not_made") == 0);
}

static void read_events(struct world *world)
{
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    if (!fs_read_at(world->dir, "events.jsonl", FILE_LIMIT, &text, &err))
        fail_msg("%s", err.text);
    json_decref(world->events);
    world->events = json_array();
    for (const char *line = text_get(&text); *line; line += strcspn(line, "\n") + 1) {
        json_t *event = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        assert_non_null(event);
        if (is_of_the_fixture(event))
            json_decref(event);
        else
            json_array_append_new(world->events, event);
    }
}

void world_run(struct world *world)
{
    struct store *store;
    bool resumed = world_has(world, "run.db");
    if (resumed) {
        store = store_open(world->dir, world->dir_path, &world->err);
    } else {
        struct store_head head = {
            .plan = &world->plan,
            .settings_text = "{}",
            .settings_length = 2,
            .registry_text = "{}",
            .registry_length = 2,
        };
        store = store_create(world->dir, world->dir_path, &head, &world->err);
    }
    if (!store)
        fail_msg("%s", world->err.text);
    struct run_request request = {
        .store = store,
        .dir = world->dir,
        .dir_path = world->dir_path,
        .containment = &world->containment,
        .environment = &world->environment,
        .listener = world->listener,
        .roots = world->roots,
        .resumed = resumed,
    };
    world->err = (struct err){0};
    world->ok = run_plan(&request, &world->summary, &world->err);
    struct err err = {0};
    if (!store_close(store, &err))
        fail_msg("%s", err.text);
    read_events(world);
}

static bool fits(const json_t *event, const char *type, int64_t experiment)
{
    return (!type || strcmp(json_string_value(json_object_get(event, "type")), type) == 0) &&
           (experiment == 0 ||
            json_integer_value(json_object_get(event, "experiment")) == experiment);
}

size_t world_count(const struct world *world, const char *type, int64_t experiment)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(world->events); i++)
        count += fits(json_array_get(world->events, i), type, experiment);
    return count;
}

const json_t *world_last(const struct world *world, const char *type, int64_t experiment)
{
    for (size_t i = json_array_size(world->events); i-- > 0;) {
        const json_t *event = json_array_get(world->events, i);
        if (fits(event, type, experiment))
            return json_object_get(event, "data");
    }
    fail_msg("no event %s of experiment %lld", type, (long long)experiment);
    return NULL;
}

const char *world_text(const struct world *world, const char *type, int64_t experiment,
                       const char *key)
{
    const char *text = json_string_value(json_object_get(world_last(world, type, experiment), key));
    return text ? text : "";
}

char *world_way(const struct world *world, int64_t experiment)
{
    struct text way = {0};
    for (size_t i = 0; i < json_array_size(world->events); i++) {
        const json_t *event = json_array_get(world->events, i);
        if (fits(event, NULL, experiment))
            text_addf(&way, "%s%s", way.length ? " " : "",
                      json_string_value(json_object_get(event, "type")));
    }
    return text_take(&way);
}

static char *read_file(int dir, const char *name)
{
    struct text text = {0};
    struct err err = {0};
    if (!fs_read_at(dir, name, FILE_LIMIT, &text, &err))
        fail_msg("%s", err.text);
    return text_take(&text);
}

char *world_read(const struct world *world, const char *name)
{
    return read_file(world->dir, name);
}

char *world_read_root(const struct world *world, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", world->root, name);
    return read_file(AT_FDCWD, path);
}

bool world_has(const struct world *world, const char *name)
{
    return faccessat(world->dir, name, F_OK, 0) == 0;
}

bool world_lock_is_free(const struct world *world, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", world->root, name);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    int64_t deadline_ns = clock_monotonic_ns() + DEADLINE_S * NS_PER_S;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (clock_monotonic_ns() > deadline_ns)
            return false;
        poll(NULL, 0, 10);
    }
    return true;
}
