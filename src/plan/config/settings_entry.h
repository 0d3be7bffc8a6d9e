/* settings_entry: one entry of "experiments". Private to config/. */
#ifndef TARE_PLAN_CONFIG_SETTINGS_ENTRY_H
#define TARE_PLAN_CONFIG_SETTINGS_ENTRY_H

#include "plan/config/field.h"
#include "plan/config/settings.h"

/* "mode" as it is written, in the order of the names that the rows of "mode" have. */
enum written_mode {
    WRITTEN_MUTATION,
    WRITTEN_NONPARALLEL,
    WRITTEN_DEFAULT,
    WRITTEN_GRID,
    WRITTEN_LIST,
    WRITTEN_PARALLEL,
    WRITTEN_MIXED,
    WRITTEN_NONE
};

/* What an entry inherits from the top of the file, and what one level of an entry says itself
 * (UNSAID where it says nothing). */
struct level {
    int mode; /* enum written_mode */
    int64_t runs;
    int64_t max_retries;
    char *governor;
    double timeout_s;
    double expected_s;    /* of an entry */
    double start_after_s; /* of an entry */
    int isolation;        /* of an entry */
    char *gpu_limit;      /* as written */
    enum setting_switch track_gpu_memory;
};

enum { UNSAID = -1 };

#define SETTINGS_SEEDS_ROW(fallback)                                                        \
    {                                                                                       \
        "seeds", FIELD_OTHER,                                                               \
            .expected = "an integer from 1 to 1000000, or a list of integers",              \
            .initial = fallback,                                                            \
            .schema = "{'anyOf': [{'type': 'integer', 'minimum': 1, 'maximum': 1000000}, "  \
                      "{'type': 'array', 'items': {'type': 'integer'}, 'minItems': 1, "     \
                      "'maxItems': 10000}]}",                                               \
            .help = "replicates: each combination is run with each of these values of the " \
                    "model's `seed` "                                                       \
                    "(or `random_seed`, `manual_seed`); 5: 1 to 5"                          \
    }

extern const struct field_table settings_entry_table, settings_foreground_table,
    settings_background_table;

/* Keys that people put there, and where they belong; a NULL key ends each. */
extern const struct misplaced settings_not_in_entry[], settings_not_in_foreground[],
    settings_not_in_background[];

/* Adds the entry to settings unless it holds nothing but comments. */
void settings_read_entry(const struct source *source, const char *path, const json_t *json,
                         size_t index, const struct level *global, struct settings *settings);

/* Warns of a misspelt governor; a kernel may have others, so an unknown one is let through. */
void settings_check_governor(const struct source *source, const char *path, const char *governor);

/* An amount of GPU memory as written (NULL: nothing is said); a wrong one is reported. */
void settings_read_gpu_limit(const struct source *source, const char *path, const char *written,
                             struct gpu_limit *out);

void settings_entry_fini(struct entry_settings *entry);

extern const struct field_table settings_tare_table, settings_timing_table, settings_parallel_table,
    settings_preflight_table, settings_cooldown_table, settings_limits_table,
    settings_private_table;

#endif
