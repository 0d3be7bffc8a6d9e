/* Below the closing table: what the run used of its budgets, and how to go on when one is used up. */
#include "report/closing.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/size.h"

#include <math.h>
#include <stdio.h>

/* What is proposed has some room, as no training needs the same twice. */
static const double ROOM = 1.1;

static const struct budget_row {
    const char *key, *unit, *option;
    bool is_time;
    enum amount kind;
} rows[] = {
    {"energy", "j", "--energy-budget", false, AMOUNT_ENERGY},
    {"time", "s", "--time-budget", true, AMOUNT_ENERGY},
    {"carbon", "g", "--carbon-budget", false, AMOUNT_MASS},
};
enum { ROWS = sizeof rows / sizeof *rows };

struct budget_use {
    double budget, used, mean; /* mean: of one experiment; 0: not known */
};

static bool use_of(const json_t *budget, const struct budget_row *row, struct budget_use *out)
{
    static const char *const names[] = {"budget", "used", "mean"};
    double *const values[] = {&out->budget, &out->used, &out->mean};
    const json_t *one = json_object_get(budget, row->key);
    *out = (struct budget_use){0};
    for (size_t i = 0; i < 3; i++) {
        AUTO_FREE char *key = mem_printf("%s_%s", names[i], row->unit);
        json_get_number(one, key, values[i]);
    }
    return out->budget > 0;
}

static char *amount_shown(const struct budget_row *row, double value)
{
    char text[32];
    if (!row->is_time)
        return amount_text(value, row->kind);
    clock_format_duration(value, text);
    return mem_strdup(text);
}

static void add_counted(const json_t *budget, struct text *out)
{
    const json_t *counted = json_object_get(budget, "counted");
    json_int_t attempts = 0, estimated = 0, unmeasured = 0;
    json_get_int(budget, "attempts", &attempts);
    json_get_int(budget, "estimated", &estimated);
    json_get_int(budget, "unmeasured", &unmeasured);
    text_add(out, "  counted: ");
    for (size_t i = 0; i < json_array_size(counted); i++) {
        const char *name = json_string_value(json_array_get(counted, i));
        AUTO_FREE char *shown = utf8_line(name ? name : "?");
        text_addf(out, "%s%ss", i ? " and " : "", shown);
    }
    text_addf(out, ", gross, of %lld attempt%s", (long long)attempts, attempts == 1 ? "" : "s");
    if (estimated)
        text_addf(out, "; %lld by the last reading while it ran", (long long)estimated);
    if (unmeasured)
        text_addf(out, "; not counted, as nothing measured them: %lld", (long long)unmeasured);
    text_add(out, "; not counted: pauses\n");
}

void closing_add_budget(const struct results *results, struct text *out)
{
    const json_t *budget = results->budget;
    const char *reached = json_get_text(budget, "reached");
    bool energy = false;
    for (size_t i = 0; i < ROWS; i++) {
        struct budget_use use;
        if (!use_of(budget, &rows[i], &use))
            continue;
        AUTO_FREE char *total = amount_shown(&rows[i], use.budget);
        AUTO_FREE char *used = amount_shown(&rows[i], use.used);
        text_addf(out, "%s budget: %s of %s used", rows[i].key, used, total);
        const json_t *one = json_object_get(budget, rows[i].key);
        const char *source = json_get_text(one, "source");
        double intensity;
        if (json_get_number(one, "g_per_kwh", &intensity)) {
            AUTO_FREE char *shown = source ? utf8_line(source) : NULL;
            text_addf(out, ", at %g g/kWh%s%s%s", intensity, shown ? " (" : "", shown ? shown : "", shown ? ")" : "");
        }
        text_add_char(out, '\n');
        energy = energy || !rows[i].is_time;
    }
    if (energy)
        add_counted(budget, out);
    if (reached) {
        AUTO_FREE char *shown = utf8_line(reached);
        text_addf(out, "stopped: %s\n", shown);
    }
}

/* In two digits, and no less. */
static double rounded_up(double value)
{
    double step = value > 0 ? pow(10, floor(log10(value)) - 1) : 1;
    return ceil(value / step - 1e-9) * step;
}

void closing_budget_options(const struct results *results, size_t left, struct strv *argv)
{
    if (!json_get_text(results->budget, "reached"))
        return;
    for (size_t i = 0; i < ROWS; i++) {
        struct budget_use use;
        if (!use_of(results->budget, &rows[i], &use))
            continue;
        double needed = use.used + (double)left * use.mean;
        if (use.mean > 0 ? needed <= use.budget : use.used < use.budget)
            continue;
        double wanted = use.mean > 0 ? needed * ROOM : 2 * use.budget;
        strv_add(argv, rows[i].option);
        strv_add_owned(argv, rows[i].is_time ? mem_printf("%.0fm", ceil(wanted / 60))
                                              : amount_text(rounded_up(wanted), rows[i].kind));
    }
}
