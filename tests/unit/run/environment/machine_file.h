/* machine_file: machine.json as the run writes it. */
#ifndef TARE_TESTS_MACHINE_FILE_H
#define TARE_TESTS_MACHINE_FILE_H

#include "../fixture.h"

#include "run/environment/machine.h"

#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The caller releases it. */
static inline json_t *written(struct world *world)
{
    struct err err = {0};
    AUTO_STRV struct strv environment = {0};
    for (char **entry = environ; *entry; entry++)
        strv_add(&environment, *entry);
    json_t *software = machine_software_json(&world->plan, &world->containment, &environment);
    const struct machine_facts facts = {.software = software, .session = 1};
    if (!machine_write(world->dir, &world->plan, &world->containment, &facts, &err))
        fail_msg("%s", err.text);
    json_decref(software);
    AUTO_FREE char *text = world_read(world, "machine.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

#endif
