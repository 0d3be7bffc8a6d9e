/* What is learnt of a GPU's sensors from readings in CSV (series,begin_ns,end_ns,value;
 * calibrated_cover.py writes them): learn_readings < FILE prints JSON, as a calibration's file has
 * it. */
#include "base/mem.h"
#include "measure/calibration/calibration_measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void keep(struct calibration_data *data, const char *name, struct sensor_reading reading)
{
    for (int s = 0; s < CALIBRATION_SERIES; s++) {
        struct calibration_readings *series = &data->series[s];
        if (strcmp(name, calibration_series_names[s]) != 0)
            continue;
        series->items = mem_room(series->items, series->count, sizeof *series->items);
        series->items[series->count++] = reading;
    }
}

int main(void)
{
    char line[200], name[20];
    struct sensor_reading reading;
    struct calibration_data data = {0};
    struct calibration found = {0};
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%19[a-z],%" SCNd64 ",%" SCNd64 ",%lf", name, &reading.before_ns,
                   &reading.after_ns, &reading.value) != 4)
            continue;
        if (strcmp(name, "load") != 0) {
            keep(&data, name, reading);
            continue;
        }
        data.loads = mem_room(data.loads, data.load_count, sizeof *data.loads);
        data.loads[data.load_count++] =
            (struct load_interval){reading.before_ns, reading.after_ns, reading.value};
    }
    data.identity = (struct gpu_identity){.uuid = "GPU-read", .name = "read", .driver = "0"};
    calibration_learn(&data, &found);
    found.made_s = 1;
    json_t *json = calibration_json(&found);
    json_dumpf(json, stdout, JSON_INDENT(1));
    json_decref(json);
    calibration_data_fini(&data);
    return 0;
}
