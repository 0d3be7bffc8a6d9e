#include "session/reading_folders.h"

#include "results/judge/judge.h"
#include "base/cleanup.h"
#include "base/value.h"
#include "session/run_folder.h"

int reading_folders(char *const *paths, size_t count, struct dataset *out)
{
    struct err err = {0};
    *out = (struct dataset){0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        AUTO_FREE char *path = run_folder_named(paths[i], &err);
        ok = path && dataset_read(out, path, &err);
    }
    if (!ok) {
        cli_error("%s", err.text);
        dataset_fini(out);
        return CLI_BROKEN;
    }
    audit_judge(out);
    return CLI_OK;
}

bool reading_carbon(const struct cli_value *value, struct reading *g_per_kwh, struct err *err)
{
    *g_per_kwh = (struct reading){0};
    if (!value->given)
        return true;
    g_per_kwh->valid = number_parse(value->text, &g_per_kwh->value) && g_per_kwh->value >= 0;
    return g_per_kwh->valid ||
           err_set(err, "--carbon-intensity: '%s' is no number of grams of CO2e per kWh", value->text);
}
