/* opened: a recorded snapshot that is open. */
#ifndef TARE_TESTS_OPENED_H
#define TARE_TESTS_OPENED_H

#include "base/mem.h"
#include "gpu_memory/allocator/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

struct record {
    struct snapshot snapshot;
    struct program program;
    struct check check;
};

static inline void open_record(const char *name, uint64_t cap_bytes, struct record *out)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_printf(PROJECT_ROOT "/tests/data/memory/%s.pickle", name);
    if (!snapshot_load(path, &out->snapshot, &err))
        fail_msg("%s", err.text);
    assert_true(program_build(&out->snapshot, 0, &out->program, NULL));
    check_run(&out->snapshot, 0, &out->program, cap_bytes, 0, &out->check);
    program_add_empty_caches(&out->program, out->check.empty_caches, out->check.empty_cache_count);
}

static inline void close_record(struct record *record)
{
    check_fini(&record->check);
    program_fini(&record->program);
    snapshot_fini(&record->snapshot);
}

#endif
