#include "results/judge/consistency_runs.h"
#include "results/judge/consistency_values.h"

#include "base/mem.h"
#include "results/judge/dataset.h"

/* Copies come first: what is known to be a copy is not compared again. The false alarms are those
 * of tests/verdicts/contradictions.py. */
static const struct consistency_check checks[CONSISTENCIES] = {
    [CONSISTENCY_COPIED_RUN] = {"copied_run",
                                "When two experiments ended, how long they took and their samples.",
                                0, 7834, consistency_find_copies},
    [CONSISTENCY_TIME] = {"time_overlap",
                          "The times of experiments on one GPU: an overlap of 5 s or more.", 0,
                          7834, consistency_find_overlaps},
    [CONSISTENCY_COPIED_TRACE] = {"copied_trace",
                                  "The power samples of two experiments, whatever their times.", 0,
                                  7834, consistency_find_copied_traces},
    [CONSISTENCY_ROWS] = {"repeated_rows", "Rows of the power samples with equal time and value.",
                          0, 7834, consistency_find_repeated_rows},
    [CONSISTENCY_SENSOR] = {"sensor_frozen",
                            "How long power, utilisation and temperature do not change under load, "
                            "with the folder's other experiments; coarse power needs a second "
                            "long span to be excused.",
                            0, 7834, consistency_find_frozen},
    [CONSISTENCY_METRICS] = {"metrics_copied",
                             "All digits of the metrics of two trainings with different seeds.", 0,
                             7834, consistency_find_equal_metrics},
};

const struct consistency_check *consistency_check(enum consistency check)
{
    return &checks[check];
}

enum check_outcome consistency_of_samples(const struct dataset *dataset,
                                          const struct dataset_experiment *experiment, bool sampled)
{
    bool own = dataset->folders[experiment->folder].layout == DATASET_TARE;
    return sampled ? CHECK_PASSED : own ? CHECK_NOT_NEEDED : CHECK_NOT_MADE;
}

void consistency_find(struct dataset *dataset)
{
    EACH_OF (check, checks)
        check->find(dataset);
}
