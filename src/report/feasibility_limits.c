/* What the study expected of its pairs beside what they came to, and how long a study of pairs will
 * take. */
#include "report/feasibility_text.h"

#include "base/mem.h"
#include "report/columns.h"

#include <math.h>

static char *rate_text(double rate)
{
    return mem_printf("%.0f %%", 100 * rate);
}

/* "5 of 6" of those that ran, and the rate; both "-" where none did. */
static void success_texts(const struct limits_success *success, char **worked, char **rate)
{
    struct reading of_ran = limits_rate(success);
    *worked =
        of_ran.valid ? mem_printf("%zu of %zu", success->worked, success->ran) : mem_strdup("-");
    *rate = of_ran.valid ? rate_text(of_ran.value) : mem_strdup("-");
}

static const char *tint(const struct limits_success *success, double expected)
{
    struct reading rate = limits_rate(success);
    return rate.valid && rate.value < expected ? "\x1b[31m" : NULL;
}

struct table *feasibility_tiers(const struct feasibility *study, bool colour)
{
    struct limits_account account;
    struct table *table = table_of(colour, "TIER", ">UP TO MB", ">WORKED", ">SUCCESS",
                                   ">OF THIS GPU", ">WORKED", ">SUCCESS", ">EXPECTED");
    limits_count(study, &account);
    for (size_t i = 0; i < TIER_COUNT + (account.by_size[TIER_COUNT].pairs > 0); i++) {
        const struct limits_tier *tier = i < TIER_COUNT ? &limits_tiers[i] : NULL;
        bool ends = tier && isfinite(tier->up_to_bytes);
        char *worked[2], *rate[2];
        success_texts(&account.by_size[i], &worked[0], &rate[0]);
        success_texts(&account.by_share[i], &worked[1], &rate[1]);
        table_row(table, mem_strdup(tier ? tier->name : "not known"),
                  ends ? mem_printf("%.0f", tier->up_to_bytes / 1e6)
                       : mem_strdup(tier ? "above" : "-"),
                  worked[0], rate[0],
                  ends ? mem_printf("%.4g %%", 100 * tier->up_to_share)
                       : mem_strdup(tier ? "above" : "-"),
                  worked[1], rate[1], tier ? rate_text(tier->expected) : mem_strdup("-"));
        if (tier) {
            table_tint(table, 3, tint(&account.by_size[i], tier->expected));
            table_tint(table, 6, tint(&account.by_share[i], tier->expected));
        }
    }
    return table;
}

static void add_forecast_part(const struct forecast_part *part, const char *what, struct text *out)
{
    AUTO_FREE char *time =
        part->seconds.valid ? amounts_duration(part->seconds) : mem_strdup("not known");
    if (part->count > 0)
        text_addf(out, "%s%zu %s %s", out->length ? ", " : "", part->count, what, time);
}

char *forecast_text(const struct forecast *forecast)
{
    const struct forecast_part *alone = &forecast->alone, *pairs = &forecast->pairs;
    size_t count = alone->count + pairs->count, known = alone->known + pairs->known;
    AUTO_TEXT struct text parts = {0};
    struct text text = {0};
    add_forecast_part(alone, alone->count == 1 ? "model alone" : "models alone", &parts);
    add_forecast_part(pairs, pairs->count == 1 ? "pair" : "pairs", &parts);
    text_addf(&text, "Estimated time with pauses: %s", text_get(&parts));
    if (alone->count > 0 && pairs->count > 0 && forecast->seconds.valid) {
        AUTO_FREE char *all = amounts_duration(forecast->seconds);
        text_addf(&text, ", in all %s", all);
    }
    if (!forecast->seconds.valid)
        text_add(&text, "; 'expected_duration', 'historical_csvs' or --alone would say more");
    else if (known < count)
        text_addf(&text,
                  "; %zu of %zu durations are known, the others count as the mean of their kind",
                  known, count);
    return text_take(&text);
}
