/* Any bytes read as feasibility.json: no crash; a schedule of it takes no longer than the models
 * alone. */
#include "sharing/choose.h"
#include "sharing/schedule.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_schedule(const struct feasibility *study)
{
    struct schedule schedule;
    AUTO_FREE bool *use = mem_array(study->model_count + 1, sizeof *use);
    for (size_t i = 0; i < study->model_count && i < 20; i++)
        use[i] = true;
    schedule_make(study, use, 8589934592.0, 1.5, &schedule);
    if (!(schedule.seconds <= schedule.alone_seconds + 1))
        abort();
    for (size_t i = 0; i < schedule.count; i++)
        if (schedule.steps[i].foreground >= study->model_count ||
            schedule.steps[i].background >= study->model_count)
            abort();
    json_decref(schedule_settings(study, &schedule));
    schedule_fini(&schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc doc;
    struct feasibility study = {0};
    if (!json_doc_parse("input", (const char *)data, size, &doc, NULL))
        return 0;
    if (schedule_read(&study, doc.root, NULL))
        check_schedule(&study);
    feasibility_fini(&study);
    json_doc_fini(&doc);
    return 0;
}
