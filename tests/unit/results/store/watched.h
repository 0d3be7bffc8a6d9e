/* watched: a run that a watcher has open. */
#ifndef TARE_TESTS_WATCHED_H
#define TARE_TESTS_WATCHED_H

#include "fixture.h"

#include "results/store/live.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static inline struct store *begin(struct run *run)
{
    run_make(run);
    struct store *store = fixture_create(run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'pid': 1}");
    assert_true(store_flush(store, NULL));
    return store;
}

static inline void open_run(const struct run *run, struct live_run *live)
{
    struct err err = {0};
    if (!live_run_open(run->path, live, &err))
        fail_msg("%s", err.text);
}

static inline bool updated(struct live_run *live)
{
    struct err err = {0};
    bool changed = false;
    if (!live_run_update(live, &changed, &err))
        fail_msg("%s", err.text);
    return changed;
}

#endif
