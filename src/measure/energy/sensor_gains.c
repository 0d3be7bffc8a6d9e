#include "measure/energy/sensor_gains.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

enum { FORMAT = 1, FILE_MAX = 4096, TEXT_MAX = 400, GAINS_MAX = 10000 };
static const char prefix[] = "gain-";
/* A sensor that is off by more is broken, and its energies are no measurement. */
static const double most_bound = 0.5;

const struct sensor_gain_entry *sensor_gains_find(const struct sensor_gains *gains, const char *uuid)
{
    for (size_t i = 0; i < gains->count; i++)
        if (strcmp(gains->items[i].uuid, uuid) == 0)
            return &gains->items[i];
    return NULL;
}

static void entry_fini(struct sensor_gain_entry *entry)
{
    free(entry->uuid);
    free(entry->source);
    *entry = (struct sensor_gain_entry){0};
}

void sensor_gains_fini(struct sensor_gains *gains)
{
    for (size_t i = 0; i < gains->count; i++)
        entry_fini(&gains->items[i]);
    free(gains->items);
    *gains = (struct sensor_gains){0};
}

static bool is_name(const char *uuid)
{
    size_t length = strlen(uuid);
    for (const char *at = uuid; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            return false;
    return length > 0 && length < 80;
}

bool sensor_gains_parse(const json_t *json, struct sensor_gain_entry *out)
{
    json_int_t format = 0;
    const char *uuid = json_get_text(json, "uuid"), *source = json_get_text(json, "source");
    double bound;
    *out = (struct sensor_gain_entry){0};
    if (!json_get_int(json, "format", &format) || format != FORMAT || !uuid || !is_name(uuid) || !source ||
        utf8_has_control(source) || strlen(source) >= TEXT_MAX || !json_get_number(json, "bound", &bound) ||
        !(bound > 0 && bound <= most_bound))
        return false;
    *out = (struct sensor_gain_entry){mem_strdup(uuid), bound, mem_strdup(source)};
    return true;
}

static void read_one(int dir, const char *name, struct sensor_gains *out)
{
    struct err ignored;
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    struct sensor_gain_entry entry = {0};
    if (!fs_read_at(dir, name, FILE_MAX, &text, &ignored) ||
        !json_doc_parse(name, text_get(&text), text.length, &doc, &ignored) || !sensor_gains_parse(doc.root, &entry))
        return;
    AUTO_FREE char *own = mem_printf("%s%s.json", prefix, entry.uuid);
    if (strcmp(own, name) != 0 || sensor_gains_find(out, entry.uuid)) {
        entry_fini(&entry);
        return;
    }
    MEM_ADD(out->items, out->count, out->room) = entry;
}

void sensor_gains_read(int dir, struct sensor_gains *out)
{
    AUTO_DIR DIR *folder = fs_list(dir, ".");
    for (struct dirent *entry; folder && out->count < GAINS_MAX && (entry = readdir(folder));)
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0)
            read_one(dir, entry->d_name, out);
}

bool sensor_gains_write(int dir, const struct sensor_gain_entry *entry, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    if (!is_name(entry->uuid))
        return err_set(err, "the UUID cannot name a file");
    if (!(entry->bound > 0 && entry->bound <= most_bound))
        return err_set(err, "a sensor that is off by %.3g %% is not kept: at most %.0f %% can be", 100 * entry->bound,
                       100 * most_bound);
    json_t *json = json_object();
    json_object_set_new(json, "format", json_integer(FORMAT));
    json_object_set_new(json, "uuid", json_string(entry->uuid));
    json_object_set_new(json, "bound", json_finite(entry->bound));
    json_object_set_new(json, "source", json_text_or_null(entry->source));
    json_print_pretty(json, &text);
    json_decref(json);
    AUTO_FREE char *name = mem_printf("%s%s.json", prefix, entry->uuid);
    return fs_write_atomic(dir, name, text_get(&text), text.length, err);
}

#define MS(count) ((int64_t)(count)*NS_PER_MS)
#define PAPER     "arXiv 2312.02741"

const struct sensor_gain sensor_gain_rapl = {.source = "the vendor states none for RAPL"};

/* A device of a smaller share has never been seen. */
const struct sensor_profile sensor_profile_unknown = {
    .label = "unknown: widest bounds",
    .behaviour = {.update_ns = MS(100),
                  .jitter_ns = MS(2),
                  .averaging = WINDOW_BOXCAR,
                  .averaging_ns = MS(1000),
                  .looked_share = 0.2},
    .accuracy = "unknown",
    .gain = {.source = "the vendor states none; " PAPER " measured about 5 % on many boards, another share on each"},
    .source = "the longest mean (NVML: 1 s) and the smallest looked-at share (GH200: 20 ms of 100 ms, " PAPER ")",
};

/* "T4" is in "Tesla T4" and "T4G", not in "T400", "A10" not in "A100"; "RTX 30" is in "RTX 3090": two digits are a series. */
static bool names(const char *model, const char *word)
{
    size_t length = strlen(word);
    bool series = strchr(word, ' ') != NULL;
    for (const char *at = model; (at = strstr(at, word)) != NULL; at++) {
        bool begins = at == model || !isalnum((unsigned char)at[-1]);
        if (begins && (series || !isdigit((unsigned char)at[length])))
            return true;
    }
    return false;
}

const struct sensor_profile *sensor_profile_find(const struct gpu_vendor *vendor, const char *model)
{
    for (size_t i = 0; vendor && i < vendor->profile_count; i++) {
        const struct sensor_profile *row = &vendor->profiles[i];
        for (size_t k = 0; k < sizeof row->models / sizeof *row->models && row->models[k]; k++)
            if (names(model, row->models[k]))
                return row;
    }
    return &sensor_profile_unknown;
}

void sensor_behaviour_apply(const struct sensor_behaviour *behaviour, struct window_sensor *sensor)
{
    int64_t mean_ns = behaviour->averaging == WINDOW_BOXCAR        ? behaviour->averaging_ns / 2
                      : behaviour->averaging == WINDOW_EXPONENTIAL ? behaviour->averaging_ns
                                                                   : 0;
    sensor->update_period_ns = behaviour->update_ns;
    sensor->update_jitter_ns = behaviour->jitter_ns;
    sensor->averaging = behaviour->averaging;
    sensor->span_min_ns = 0;
    sensor->span_max_ns = 2 * (mean_ns + behaviour->delay_ns);
    sensor->bounded = !behaviour->counter_current;
    if (sensor->bounded) {
        sensor->averaging_ns = behaviour->averaging_ns;
        sensor->lag_ns = behaviour->told ? mean_ns + behaviour->delay_ns : 0;
        sensor->lag_unsure_ns = behaviour->told ? 0 : mean_ns + behaviour->delay_ns;
    }
    sensor->unseen_share = 1 - behaviour->looked_share;
    if (sensor->gap_ns < 3 * behaviour->update_ns / 2)
        sensor->gap_ns = 3 * behaviour->update_ns / 2;
}
