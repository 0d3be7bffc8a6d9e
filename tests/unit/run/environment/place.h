/* place: folders, files and interpreters that a registry needs. */
#ifndef TARE_TESTS_PLACE_H
#define TARE_TESTS_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/environment/needs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char *folder;
    struct registry registry;
    struct needs needs;
};

static inline int set_up(void **state)
{
    char name[] = "/tmp/needs-test.XXXXXX";
    struct place *place = mem_alloc(sizeof *place);
    place->folder = mem_strdup(mkdtemp(name));
    assert_non_null(place->folder);
    *state = place;
    return 0;
}

static inline int tear_down(void **state)
{
    struct place *place = *state;
    needs_fini(&place->needs);
    registry_fini(&place->registry);
    AUTO_FREE char *command = mem_printf("rm -rf %s", place->folder);
    assert_int_equal(system(command), 0);
    free(place->folder);
    free(place);
    return 0;
}

static inline void make_folder(const struct place *place, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", place->folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static inline void make_file(const struct place *place, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", place->folder, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* An interpreter that answers as ours is asked to, and leaves what it was asked. */
static inline void make_interpreter(const struct place *place, const char *answer)
{
    AUTO_FREE char *script = mem_printf("#!/bin/sh\n"
                                        "shift 2\n"
                                        "echo \"$*|$CUDA_VISIBLE_DEVICES|$SAID\" > %s/asked\n"
                                        "echo 'yes 3.11.2'\n"
                                        "%s\n",
                                        place->folder, answer);
    make_file(place, "python", script);
}

/* Looks at repository r with models small and large, of which only wanted are asked for. */
static inline void look(struct place *place, const char *rest, const char *wanted)
{
    AUTO_FREE char *text = mem_printf("{\"models\": {\"r\": {\"path\": \"%s/repo\", "
                                      "\"train_script\": \"train.py\", \"models\": [\"small\", "
                                      "\"large\"]%s}}}",
                                      place->folder, rest);
    AUTO(problems_fini) struct problems problems = {0};
    assert_true(registry_parse("r", text, strlen(text), &place->registry, &problems));
    AUTO_STRV struct strv models = {0};
    strv_add(&models, wanted);
    const struct plan_options options = {
        .home = place->folder, .cwd = "/", .path = "/usr/bin:/bin"};
    needs_check_repo(&place->registry, &place->registry.repos[0], &models, &options, &place->needs);
    needs_ask(&place->needs);
}

static inline const struct need *find(const struct place *place, enum need_kind kind,
                                      const char *name)
{
    const struct repo_needs *repo = &place->needs.repos[0];
    for (size_t i = 0; i < repo->count; i++)
        if (repo->items[i].kind == kind && (!name || strcmp(repo->items[i].name, name) == 0))
            return &repo->items[i];
    return NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
