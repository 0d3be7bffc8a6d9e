#include "report/summary_stats_text.h"

#include "base/mem.h"
#include "base/value.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

static void add_row(struct table *table, const struct dataset *dataset, const struct external_meter_row *row)
{
    table_row(table, audit_text_fit(dataset->items[row->item].id, 0), mem_printf("%.6g", row->gpu_j.value),
              row->why ? NULL : mem_printf("%.6g", row->meter_j.value),
              row->why ? NULL : mem_printf("%.4f", row->gpu_j.value / row->meter_j.value),
              mem_strdup(row->why ? row->why : ""));
}

static void say_gain(const struct external_meter *meter, struct text *out)
{
    const struct budget_sum *sum = &meter->sum;
    text_addf(out, "the sensor shows %.4f of what the meter measured", meter->gain);
    if (!sum->complete) {
        text_add(out, "; how far off that is cannot be told without the meter's accuracy "
                      "(--external-meter-accuracy)\n");
        return;
    }
    text_addf(out, " \302\261 %.2g (95 %%, k = %.3g", sum->expanded, sum->k);
    if (isfinite(sum->df))
        text_addf(out, ", %.3g effective degrees of freedom", sum->df);
    text_add(out, ")");
    if (fabs(meter->gain - 1) <= sum->expanded)
        text_add(out, ": its gain does not differ from 1 beyond that\n");
    else
        text_addf(out, ": it shows %.10g %% too %s\n", number_round(100 * fabs(meter->gain - 1), 2), meter->gain > 1 ? "much" : "little");
}

static void say_fit(const struct external_meter *meter, struct text *out)
{
    if (!meter->has_fit) {
        text_add(out, "a meter of the whole machine tells no gain; a slope needs 3 experiments whose powers differ\n");
        return;
    }
    text_addf(out,
              "the meter shows %.4g W + %.4g \302\261 %.2g (95 %%) times the power of the GPUs: that holds the power "
              "supply's loss and\nwhatever else draws more under load, so it is not the gain of the GPUs' sensors\n",
              meter->base_w, meter->slope, meter->slope_half);
    if (meter->slope + meter->slope_half < 1)
        text_add(out, "yet it rises by less than the GPUs: their sensors show too much, the meter too little, or their "
                      "clocks differ\n");
}

void external_meter_text(const struct dataset *dataset, const struct external_meter *meter,
                         const struct audit_text_options *options, struct text *out)
{
    AUTO_FREE char *file = audit_text_fit(meter->options.file, 0);
    struct table *table =
        table_of(options->colour, "experiment", ">GPU J", ">meter J", ">GPU / meter", "not compared");
    size_t shown = 0;
    text_addf(out, "\nexternal meter %s, of %s: %zu readings, %zu of %zu experiments compared\n", file,
              meter->uuid ? meter->uuid : "the machine", meter->readings, meter->compared, meter->count);
    for (; shown < meter->count && (options->all || shown < AUDIT_TEXT_ROWS); shown++)
        add_row(table, dataset, &meter->rows[shown]);
    table_end(table, out);
    if (shown < meter->count)
        text_addf(out, "and %zu more (--all)\n", meter->count - shown);
    if (meter->has_gain)
        say_gain(meter, out);
    else if (!meter->uuid && meter->compared > 0)
        say_fit(meter, out);
}
