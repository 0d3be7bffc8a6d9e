#include "report/watch/slots.h"
#include "base/mem.h"
#include "report/live/layout.h"
#include "report/watch/view.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FIELDS_MAX = 7,
    FIELD_BYTES = 160,
    GAP = 2,
    INDENT = 2,
    NARROW = 60,
    WIDE = 98,
    VERDICT_COLUMNS = 17,
    VERDICT_SHORT = 14,
    ID_MIN = 14,
    ID_MAX = 40,
    GPUS_MAX = 12,
    METRIC_COLUMNS = 20
};
static const double GIB = 1024.0 * 1024 * 1024;

struct field {
    char text[FIELD_BYTES];
    size_t width;
    bool right;
    enum grid_style style;
};

/* Columns of a row, which are those of all slots. */
struct columns {
    size_t number, gpus, id, whole;
    const size_t *fields;
    bool narrow, wide, one_row;
};

/* Of the fields, in their order; the last, the metrics, takes what is left of its row. */
static const size_t wide_fields[FIELDS_MAX] = {16, 28, 6, 9, 13, 5, METRIC_COLUMNS},
                    medium_fields[FIELDS_MAX] = {16, 25, 6, 5, 13, 5, METRIC_COLUMNS},
                    narrow_fields[FIELDS_MAX] = {15, 19, 6, 5, 13, 5, METRIC_COLUMNS};

static size_t all_fields(const size_t *widths)
{
    size_t all = 0;
    EACH (width, widths, FIELDS_MAX)
        all += *width + GAP;
    return all;
}

/* "GPU 0,GPU 1" */
static void add_gpu_names(const struct live_slot *slot, struct text *out)
{
    const json_t *item;
    size_t i;
    json_array_foreach(slot->gpus, i, item) text_addf(
        out, "%s%s", i ? "," : "", json_string_value(item) ? json_string_value(item) : "?");
}

/* None where there is one slot. */
static size_t gpus_columns(const struct live_run *run)
{
    size_t most = 0;
    for (size_t i = 0; run->slot_count > 1 && i < run->slot_count; i++) {
        AUTO_TEXT struct text text = {0};
        add_gpu_names(&run->slots[i], &text);
        size_t columns = utf8_columns(text_get(&text));
        most = columns > most ? columns : most;
    }
    return most > GPUS_MAX ? GPUS_MAX : most;
}

static struct columns slot_columns(const struct live_run *run, size_t whole)
{
    struct columns out = {.number = run->slot_count >= 100  ? 3
                                    : run->slot_count >= 10 ? 2
                                                            : 1,
                          .id = ID_MIN,
                          .whole = whole,
                          .narrow = whole < NARROW,
                          .wide = whole >= WIDE};
    EACH (slot, run->slots, run->slot_count) {
        size_t number = slot->experiment;
        size_t id =
            number && number <= run->plan.count ? strlen(run->plan.experiments[number - 1].id) : 0;
        out.id = id > out.id ? id : out.id;
    }
    out.fields = out.narrow ? narrow_fields : out.wide ? wide_fields : medium_fields;
    size_t fixed = out.number + 1 + GAP + VERDICT_COLUMNS;
    out.id = out.id > ID_MAX ? ID_MAX : out.id;
    if (fixed + out.id > whole)
        out.id = whole > fixed + ID_MIN ? whole - fixed : ID_MIN;
    out.one_row = fixed + out.id + all_fields(wide_fields) <= whole;
    size_t gpus = gpus_columns(run);
    if (fixed + out.id + gpus + GAP + (out.one_row ? all_fields(wide_fields) : 0) <= whole)
        out.gpus = gpus;
    return out;
}

static void put_reading(struct field *field, const char *before, struct reading reading,
                        const char *unit)
{
    if (reading.valid)
        snprintf(field->text, sizeof field->text, "%s%.0f %s", before, reading.value, unit);
    else
        snprintf(field->text, sizeof field->text, WATCH_ABSENT);
    field->right = true;
}

/* live.json stays as it was when its program died. */
static void put_phase(struct field *field, const struct live_run *run, const struct live_slot *slot,
                      int64_t now_ns)
{
    if (run->state == LIVE_DIED) {
        snprintf(field->text, sizeof field->text, "died");
        field->style = GRID_BAD;
        return;
    }
    char time[WATCH_TIME_BYTES];
    int64_t since_ns =
        strcmp(slot->phase, "running") == 0 && slot->started_ns ? slot->started_ns : slot->since_ns;
    double seconds = (double)(now_ns - since_ns) / (double)NS_PER_S;
    bool pause = strcmp(slot->phase, "pause") == 0 && slot->pause_s > 0;
    watch_time(pause ? fmax(slot->pause_s - seconds, 0) : seconds, time);
    snprintf(field->text, sizeof field->text, "%s %s%s", *slot->phase ? slot->phase : WATCH_ABSENT,
             since_ns ? time : "", pause ? " left" : "");
    field->style = GRID_PLAIN;
}

/* "epoch 3/20 ━━━╸──── 17 %": label and bar have places of their own, so that those of all slots
 * are below each other. */
static void put_progress(struct field *field, const struct live_slot *slot,
                         const struct columns *columns, bool ascii)
{
    const struct live_training *training = &slot->training;
    AUTO_TEXT struct text label = {0};
    AUTO_TEXT struct text text = {0};
    const char *name = training->name;
    size_t label_columns = columns->narrow ? 7
                           : columns->wide ? 12
                                           : 11,
           width = columns->narrow ? 5
                   : columns->wide ? 9
                                   : 7;
    if (training->at.valid)
        text_addf(&label, "%s%.10g",
                  name && strcmp(name, "epoch") == 0 && !columns->narrow ? "epoch " : "",
                  training->at.value);
    else
        text_add(&label, WATCH_ABSENT);
    if (label.length && training->of.valid)
        text_addf(&label, "/%.10g", training->of.value);
    for (size_t i = utf8_fit(text_get(&label), label_columns, &text); i < label_columns + 1; i++)
        text_add_char(&text, ' ');
    if (training->share.valid) {
        double share = training->share.value;
        bar_draw(share, ascii ? width - 2 : width, ascii, &text);
        text_addf(&text, " %3.0f %%", floor(100 * fmin(fmax(share, 0), 1) + 1e-9));
    }
    snprintf(field->text, sizeof field->text, "%s", text_get(&text));
    field->style = GRID_PLAIN;
}

static void put_memory(struct field *field, const struct live_slot *slot)
{
    put_reading(field, "", (struct reading){0}, "");
    if (slot->memory_bytes.valid && !slot->memory_total_bytes.valid)
        snprintf(field->text, sizeof field->text, "%.1f GiB", slot->memory_bytes.value / GIB);
    else if (slot->memory_bytes.valid)
        snprintf(field->text, sizeof field->text, "%.1f/%.*f GiB", slot->memory_bytes.value / GIB,
                 slot->memory_total_bytes.value >= 100 * GIB ? 0 : 1,
                 slot->memory_total_bytes.value / GIB);
}

static void put_metrics(struct field *field, const struct live_run *run,
                        const struct live_slot *slot)
{
    const struct plan_job *job = &run->plan.experiments[slot->experiment - 1].foreground;
    AUTO_TEXT struct text text = {0};
    EACH (metric, job->metrics, job->metric_count) {
        double value;
        char digits[32];
        if (!json_get_number(slot->metrics, metric->name, &value))
            continue;
        number_shortest(number_round(value, 4), digits);
        text_addf(&text, "%s%s %s", text.length ? "  " : "", metric->name, digits);
    }
    snprintf(field->text, sizeof field->text, "%.*s",
             (int)utf8_cut(text_get(&text), text.length, FIELD_BYTES - 1), text_get(&text));
    field->style = GRID_METRIC;
}

static bool slot_has_experiment(const struct live_run *run, const struct live_slot *slot)
{
    return slot->experiment > 0 && slot->experiment <= run->plan.count;
}

static size_t fields_of(const struct watch_scene *scene, const struct live_slot *slot,
                        const struct columns *columns, bool ascii, struct field *out)
{
    memset(out, 0, FIELDS_MAX * sizeof *out);
    for (size_t i = 0; i < FIELDS_MAX; i++)
        out[i].width = columns->fields[i];
    put_phase(&out[0], scene->run, slot, scene->now_ns);
    if (slot_has_experiment(scene->run, slot))
        put_progress(&out[1], slot, columns, ascii);
    put_reading(&out[2], "", slot->power_w, "W");
    out[2].style = GRID_POWER;
    put_reading(&out[3], columns->wide ? "GPU " : "", slot->utilisation_percent, "%");
    put_memory(&out[4], slot);
    put_reading(&out[5], "", slot->temperature_c, ascii ? "C" : "°C");
    if (slot_has_experiment(scene->run, slot))
        put_metrics(&out[6], scene->run, slot);
    return *out[6].text ? FIELDS_MAX : FIELDS_MAX - 1;
}

static size_t put_field(const struct grid_area *area, size_t row, size_t column, size_t width,
                        const struct field *field)
{
    return grid_field(area, row, column, width, field->right, field->style, field->text) + GAP;
}

/* Fields in rows below the first, as far as there are rows. */
static void flow(const struct grid_area *area, size_t begin, const struct field *fields,
                 size_t count)
{
    size_t row = 1, column = begin;
    for (size_t i = 0; i < count; i++) {
        if (column + fields[i].width > area->columns && column > begin) {
            row++;
            column = begin;
        }
        column = put_field(area, row, column,
                           i == FIELDS_MAX - 1 && column < area->columns ? area->columns - column
                                                                         : fields[i].width,
                           &fields[i]);
    }
}

/* In one row: those for which there is room, the more telling ones first, but in their order. */
static void put_in_row(const struct grid_area *area, size_t column, size_t end,
                       const struct field *fields, size_t count)
{
    static const size_t telling[FIELDS_MAX] = {1, 2, 5, 3, 0, 4, 6};
    bool shown[FIELDS_MAX] = {0};
    size_t used = column;
    EACH (item, telling, FIELDS_MAX)
        if (*item < count && used + fields[*item].width <= end) {
            shown[*item] = true;
            used += fields[*item].width + GAP;
        }
    for (size_t i = 0; i < count; i++)
        if (shown[i])
            column = put_field(area, 0, column,
                               i == FIELDS_MAX - 1 ? end - column : fields[i].width, &fields[i]);
}

static void put_gpus(const struct grid_area *area, size_t column, size_t width,
                     const struct live_slot *slot)
{
    AUTO_TEXT struct text text = {0};
    add_gpu_names(slot, &text);
    grid_field(area, 0, column, width, false, GRID_DIM, text_get(&text));
}

/* area: of this slot alone. */
static void draw_slot(const struct watch_scene *scene, const struct live_slot *slot,
                      const struct columns *columns, const struct grid_area *area)
{
    struct field fields[FIELDS_MAX];
    const struct live_experiment *experiment = slot_has_experiment(scene->run, slot)
                                                   ? &scene->run->experiments[slot->experiment - 1]
                                                   : NULL;
    size_t count = fields_of(scene, slot, columns, area->grid->ascii, fields), end = area->columns;
    grid_putf(area, 0, 0, GRID_STRONG, "%*zu", (int)columns->number, slot->number);
    size_t column = columns->number + 1;
    if (columns->gpus) {
        put_gpus(area, column, columns->gpus, slot);
        column += columns->gpus + GAP;
    }
    size_t verdict = area->rows > 1 || columns->one_row ? VERDICT_COLUMNS : VERDICT_SHORT;
    bool room = column + columns->id + GAP + verdict <= end;
    column = grid_field(area, 0, column, room ? columns->id : end - column, false, GRID_PLAIN,
                        experiment ? experiment->plan->id : WATCH_ABSENT) +
             GAP;
    if (room && experiment)
        grid_field(area, 0, end - verdict, verdict, true, watch_verdict_style(experiment),
                   live_verdict_text(experiment));
    if (area->rows == 1 && room)
        put_in_row(area, column, end - verdict - GAP, fields, count);
    else
        flow(area, INDENT + columns->number, fields, count);
}

/* Rows that a slot fills at this width. */
static size_t rows_of_one(const struct columns *columns)
{
    const size_t *widths = columns->fields;
    size_t rows = 2, begin = INDENT + columns->number, column = begin;
    if (columns->one_row)
        return 1;
    EACH (width, widths, FIELDS_MAX) {
        if (column + *width > columns->whole && column > begin) {
            rows++;
            column = begin;
        }
        column += *width + GAP;
    }
    return rows;
}

size_t watch_slots_rows(const struct live_run *run, size_t columns)
{
    struct columns of = slot_columns(run, columns);
    return run->slot_count ? run->slot_count * rows_of_one(&of) : 1;
}

void watch_draw_slots(struct watch_view *view, const struct watch_scene *scene,
                      const struct grid_area *area)
{
    const struct live_run *run = scene->run;
    struct columns columns = slot_columns(run, area->columns);
    if (run->slot_count == 0) {
        grid_put(area, 0, 0, GRID_DIM,
                 run->state == LIVE_ENDED  ? "the run has ended: nothing runs any more"
                 : run->state == LIVE_DIED ? "nothing runs any more"
                                           : "no readings: none were written yet");
        return;
    }
    size_t each = area->rows / run->slot_count, most = rows_of_one(&columns);
    each = each < 1 ? 1 : each > most ? most : each;
    size_t room = area->rows / each;
    view->page[PANE_SLOTS] = room ? room : 1;
    view->top[PANE_SLOTS] = watch_scroll(view->top[PANE_SLOTS], view->slot, room, run->slot_count);
    for (size_t i = 0; i < room && view->top[PANE_SLOTS] + i < run->slot_count; i++) {
        size_t place = view->top[PANE_SLOTS] + i;
        struct grid_area one = {area->grid, area->row + i * each, area->column, each,
                                area->columns};
        draw_slot(scene, &run->slots[place], &columns, &one);
        if (place == view->slot && run->slot_count > 1 && !scene->plain)
            grid_choose(&(struct grid_area){area->grid, one.row, one.column, 1, columns.number}, 0);
    }
}
