#include "report/closing_lanes.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/columns.h"

static double number_of(const json_t *json, const char *key)
{
    double number;
    return json_get_number(json, key, &number) ? number : 0;
}

/* "GPU 2", or "GPU 2, GPU 3" */
static void add_gpus(const json_t *lane, struct text *out)
{
    size_t at;
    json_t *label;
    json_array_foreach(json_object_get(lane, "gpus"), at, label)
        text_addf(out, "%s%s", at ? ", " : "", json_string_value(label) ? json_string_value(label) : "?");
}

static void add_extreme(const json_t *lane, const char *word, struct text *out)
{
    text_add(out, word);
    add_gpus(lane, out);
    text_addf(out, " %.0f %%", 100 * number_of(lane, "busy_share"));
}

static void add_use(const json_t *pool, struct text *out)
{
    const json_t *lanes = json_object_get(pool, "lanes"), *most = NULL, *least = NULL;
    double seconds = number_of(pool, "seconds"), busy_s = 0, waited_s = 0;
    char whole[32], waited[32];
    size_t at, count = json_array_size(lanes);
    json_t *lane;
    json_array_foreach(lanes, at, lane)
    {
        busy_s += number_of(lane, "busy_s");
        waited_s += number_of(lane, "waited_s");
        most = !most || number_of(lane, "busy_s") > number_of(most, "busy_s") ? lane : most;
        least = !least || number_of(lane, "busy_s") < number_of(least, "busy_s") ? lane : least;
    }
    clock_format_duration(seconds, whole);
    text_addf(out, "%zu lanes, at work %.0f %% of %s", count, seconds > 0 ? 100 * busy_s / seconds / (double)count : 0,
              whole);
    add_extreme(most, " (most: ", out);
    add_extreme(least, ", least: ", out);
    text_add_char(out, ')');
    if (waited_s > 0) {
        clock_format_duration(waited_s, waited);
        text_addf(out, "; they waited for each other %s in all", waited);
    }
    text_add_char(out, '\n');
    json_array_foreach(lanes, at, lane)
    {
        const char *lost = json_get_text(lane, "lost");
        if (lost)
            text_addf(out, "  %s\n", lost);
    }
}

static void add_split(const json_t *split, struct text *out)
{
    double total_mj = number_of(split, "total_mj"), rest_mj = number_of(split, "unattributed_mj");
    if (total_mj <= 0)
        return;
    AUTO_FREE char *total = columns_energy_cell((struct reading){total_mj / 1000, true}, (struct reading){0});
    AUTO_FREE char *rest = columns_energy_cell((struct reading){rest_mj / 1000, true}, (struct reading){0});
    text_addf(
        out,
        "CPU energy is each experiment's share by CPU time, an estimate: of %s that the packages drew in all, %s are "
        "nobody's\n",
        total, rest);
}

void closing_add_lanes(const struct results *results, struct text *out)
{
    if (json_array_size(json_object_get(results->pool, "lanes")) < 2)
        return;
    add_use(results->pool, out);
    add_split(json_object_get(results->pool, "cpu_package"), out);
}
