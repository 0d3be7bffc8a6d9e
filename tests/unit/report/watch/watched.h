/* watched: a watched run and its view. */
#ifndef TARE_TESTS_WATCHED_H
#define TARE_TESTS_WATCHED_H

#include "report/watch/keys.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERIMENTS_MAX = 10000, SLOTS_MAX = 64, NOW_S = 1000 };

static char loss[] = "loss", accuracy[] = "accuracy", dir[] = "results/run_1", run_name[] = "run_1",
            anything[] = "x";

/* A run filled by hand: experiment 1 has ended, those from 2 on are in the slots, the others are
 * planned. */
struct made {
    struct live_run run;
    struct plan_experiment plan[EXPERIMENTS_MAX];
    struct live_experiment rows[EXPERIMENTS_MAX];
    struct live_slot slots[SLOTS_MAX];
    char ids[EXPERIMENTS_MAX][24];
    struct registry_metric metrics[2];
    json_t *gpus, *values, *power, *points;
};

static inline struct made *make(size_t experiments, size_t slots)
{
    struct made *made = mem_alloc(sizeof *made);
    made->gpus = json_pack("[s]", "GPU 0");
    made->values = json_pack("{s:f, s:f}", "loss", 0.25, "accuracy", 0.75);
    made->power = json_pack("[[f,f],[f,f]]", 900.0, 300.0, 999.0, 310.0);
    made->points = json_pack("{s:[[f,f],[f,f]]}", "loss", 900.0, 0.5, 999.0, 0.25);
    made->metrics[0].name = loss;
    made->metrics[1].name = accuracy;
    made->run = (struct live_run){.dir = dir,
                                  .name = run_name,
                                  .experiments = made->rows,
                                  .slots = made->slots,
                                  .slot_count = slots,
                                  .live_ns = NOW_S * NS_PER_S,
                                  .session_started_ns = 100 * NS_PER_S,
                                  .plan = {.experiments = made->plan, .count = experiments}};
    for (size_t i = 0; i < experiments; i++) {
        snprintf(made->ids[i], sizeof made->ids[i], "repo_net_%03zu", i + 1);
        made->plan[i] = (struct plan_experiment){.id = made->ids[i], .number = i + 1};
        made->plan[i].foreground.metrics = made->metrics;
        made->plan[i].foreground.metric_count = 2;
        made->plan[i].foreground.repo = made->plan[i].foreground.model = anything;
        made->rows[i] =
            (struct live_experiment){.plan = &made->plan[i],
                                     .state = i > 0 && i <= slots ? STATE_RUNNING : STATE_PLANNED,
                                     .slot = i > 0 && i <= slots ? i : 0,
                                     .started_ns = 940 * NS_PER_S};
    }
    made->rows[0].state = STATE_DONE;
    made->rows[0].outcome = OUTCOME_SUCCEEDED;
    made->rows[0].verdict = VERDICT_CLEAN;
    made->rows[0].duration_s = 75;
    for (size_t i = 0; i < slots; i++)
        made->slots[i] = (struct live_slot){.number = i + 1,
                                            .gpus = made->gpus,
                                            .experiment = i + 2,
                                            .attempt = 1,
                                            .phase = "running",
                                            .since_ns = 940 * NS_PER_S,
                                            .started_ns = 940 * NS_PER_S,
                                            .power_w = {310, true},
                                            .utilisation_percent = {97, true},
                                            .memory_bytes = {20.0 * (1 << 30), true},
                                            .memory_total_bytes = {80.0 * (1 << 30), true},
                                            .temperature_c = {61, true},
                                            .training = {.known = true,
                                                         .name = "epoch",
                                                         .at = {3, true},
                                                         .of = {4, true},
                                                         .share = {0.625, true}},
                                            .metrics = made->values,
                                            .power_points = made->power,
                                            .metric_points = made->points};
    return made;
}

static inline void made_free(struct made *made)
{
    json_decref(made->gpus);
    json_decref(made->power);
    json_decref(made->values);
    json_decref(made->points);
    free(made);
}

static inline struct watch_scene scene_of(const struct made *made)
{
    return (struct watch_scene){.run = &made->run, .run_count = 1, .now_ns = NOW_S * NS_PER_S};
}

static inline char *drawn(struct watch_view *view, const struct watch_scene *scene, size_t rows,
                          size_t columns, bool ascii)
{
    struct grid grid = {.ascii = ascii};
    struct text text = {0};
    grid_resize(&grid, rows, columns);
    watch_view_settle(view, scene->run);
    watch_draw(view, scene, &grid);
    grid_print(&grid, &text);
    grid_fini(&grid);
    return text_take(&text);
}

static inline void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not in it: %s\n%s", part, text);
}

#endif
