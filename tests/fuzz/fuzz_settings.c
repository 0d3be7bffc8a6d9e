/* Any bytes read as settings: no crash, every problem is one line that can be printed, and what was
 * read keeps its bounds. */
#include "plan/config/settings.h"
#include "problems.h"

static void check_job(const struct job_settings *job)
{
    if (!job->repo || !job->model || !job->json_path || job->mode == MODE_PARALLEL)
        abort();
    for (size_t i = 0; i < job->param_count; i++)
        if (!job->params[i].name)
            abort();
}

static void check_entry(const struct entry_settings *entry)
{
    check_job(&entry->foreground);
    if (entry->parallel)
        check_job(&entry->background);
    if (entry->runs < 0 || entry->runs > 1000000 || entry->max_retries < 0 ||
        entry->max_retries > 1000)
        abort();
    if (!(entry->timeout_s >= 0 && entry->timeout_s <= 366.0 * 86400))
        abort();
}

/* Not set, or within what size_energy_parse accepts. */
static void check_budget(const struct run_budget *budget)
{
    if (!(budget->energy_j >= 0 && budget->energy_j <= 1e15))
        abort();
    if (!(budget->time_s >= 0 && budget->time_s <= 366.0 * 86400))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings settings;
    struct problems problems = {0};
    bool good = settings_parse("input", (const char *)data, size, &settings, &problems);
    check_problems(&problems, good);
    for (size_t i = 0; i < settings.entry_count; i++)
        check_entry(&settings.entries[i]);
    check_budget(&settings.budget);
    if (good && settings.entry_count == 0)
        abort();
    settings_fini(&settings);
    problems_fini(&problems);
    return 0;
}
