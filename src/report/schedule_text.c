#include "base/clock.h"
#include "base/mem.h"
#include "report/audit_text.h"
#include "report/columns.h"
#include "report/feasibility_text.h"

enum { NAME_WIDTH = 18 };

void schedule_text(const struct feasibility *study, const struct schedule *schedule,
                   const struct feasibility_text_options *options, struct text *out)
{
    struct table *table = table_of(options->colour, "FOREGROUND", "BACKGROUND", ">TIME", ">SAVED", ">PEAKS", "SLOWDOWN");
    char all[32], alone[32];
    for (size_t i = 0; i < schedule->count; i++) {
        const struct schedule_step *step = &schedule->steps[i];
        bool pair = step->foreground != step->background;
        table_row(table, audit_text_fit(study->models[step->foreground].name, NAME_WIDTH),
                  audit_text_fit(pair ? study->models[step->background].name : "alone", NAME_WIDTH),
                  amounts_duration((struct reading){step->seconds, true}),
                  amounts_duration((struct reading){step->saved_s, pair}),
                  amounts_size((struct reading){step->prediction.safe_bytes, pair}),
                  pair ? mem_printf("%.2f, %s", step->slowdown, step->measured ? "measured" : "assumed")
                       : mem_strdup("-"));
    }
    table_end(table, out);
    clock_format_duration(schedule->seconds, all);
    clock_format_duration(schedule->alone_seconds, alone);
    text_addf(out, "%s in all, %s one after the other; %zu pair%s, slowdown measured for %zu\n", all, alone,
              schedule->pairs, schedule->pairs == 1 ? "" : "s", schedule->measured);
    for (size_t i = 0; i < schedule->unproven_shown; i++)
        text_addf(out, "cannot be recommended: not proven: %s and %s\n",
                  study->models[schedule->unproven[i].foreground].name,
                  study->models[schedule->unproven[i].background].name);
    if (schedule->unproven_count > schedule->unproven_shown)
        text_addf(out, "cannot be recommended: not proven: %zu more pairs\n",
                  schedule->unproven_count - schedule->unproven_shown);
}
