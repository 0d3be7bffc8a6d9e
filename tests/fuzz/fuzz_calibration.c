/* Any bytes as the file of a calibration: what is taken for one is written and read again as the
 * same, gives a profile whose figures are in range, and has a name without a path. */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "measure/calibration/calibration.h"

#include <stdio.h>

static void check_profile(const struct calibration *calibration)
{
    struct calibration_profile profile;
    calibration_profile(calibration, &sensor_profile_unknown, &profile);
    const struct sensor_behaviour *behaviour = &profile.of.behaviour;
    check(behaviour->looked_share >= 0 && behaviour->looked_share <= 1);
    check(behaviour->update_ns >= 0 && behaviour->jitter_ns >= 0);
    check(behaviour->averaging_ns >= 0 && behaviour->delay_ns >= 0);
    check(fuzz_is_legible(profile.of.label) && fuzz_is_legible(profile.of.source));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct calibration calibration, again;
    struct err err = {0};
    struct json_doc doc;
    if (!json_doc_parse("x", (const char *)data, size, &doc, &err))
        return 0;
    if (calibration_parse(doc.root, &calibration, &err)) {
        json_t *json = calibration_json(&calibration);
        check(calibration_parse(json, &again, &err));
        json_t *back = calibration_json(&again);
        check(json_equal(json, back));
        json_decref(json);
        json_decref(back);
        check_profile(&calibration);
        char *name = calibration_file_name(calibration.uuid, calibration.driver);
        check(!name || (!strchr(name, '/') && fuzz_is_legible(name)));
        free(name);
    } else {
        check(*err.text != '\0');
    }
    json_doc_fini(&doc);
    return 0;
}
