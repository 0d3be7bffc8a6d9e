/* Any bytes as an outside meter's file: what is taken is in order of time, its sums are finite and never fall, and energies of
 * two windows add up to that of both. */
#include "results/judge/external_meter.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct meter_csv *csv)
{
    for (size_t i = 0; i < csv->count; i++) {
        const struct meter_csv_reading *one = &csv->items[i];
        if (!isfinite(one->energy_j) || !isfinite(one->variance_j2) || !(one->power_w >= 0))
            abort();
        if (i > 0 && (one->t_ns <= one[-1].t_ns || one->energy_j < one[-1].energy_j))
            abort();
    }
    int64_t from = csv->items[0].t_ns, to = csv->items[csv->count - 1].t_ns, middle = from + (to - from) / 2;
    const char *why;
    double u;
    struct reading whole = meter_csv_energy(csv, from, to, &u, &why);
    struct reading first = meter_csv_energy(csv, from, middle, &u, &why);
    struct reading second = meter_csv_energy(csv, middle, to, &u, &why);
    if (whole.valid && first.valid && second.valid &&
        fabs(first.value + second.value - whole.value) > 1e-9 * csv->items[csv->count - 1].energy_j + 1e-9)
        abort();
    if (meter_csv_energy(csv, from - 1, to, &u, &why).valid || !why || meter_csv_energy(csv, to, from, &u, &why).valid)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meter_csv csv;
    struct err err = {0};
    if (!meter_csv_parse("m", (const char *)data, size, &csv, &err)) {
        if (csv.items || strncmp(err.text, "m:", 2) != 0)
            abort();
        return 0;
    }
    if (csv.count < 2)
        abort();
    check(&csv);
    meter_csv_fini(&csv);
    return 0;
}
