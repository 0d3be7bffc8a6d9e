/* plan_text: a plan as a person checks it before a night: every experiment with its command
 * line. */
#ifndef TARE_REPORT_PLAN_TEXT_H
#define TARE_REPORT_PLAN_TEXT_H

#include "base/text.h"
#include "plan/plan.h"

struct plan_text_options {
    const char *settings; /* where they came from, for people */
    const char *registry;
    /* options that are left to the script, with the defaults of its help; NULL: not known */
    const char *untouched;
    double pauses_s;         /* between the experiments, without retries */
    double adaptive_saves_s; /* at most so much less with adaptive ones; 0: not said */
    const char *results;     /* absolute path of the folder in which the run will get its own */
    bool colour;
};

/* Both add one part of the text: a long plan's is never in memory as a whole. number: the
 * experiment's; 0: the head, which comes first. */
void plan_text(const struct plan *plan, const struct plan_text_options *options, size_t number,
               struct text *out);

/* {"settings", "registry", "pauses_s", "plan": the head, "experiments": [...]} */
void plan_text_json(const struct plan *plan, const struct plan_text_options *options, size_t number,
                    struct text *out);

#endif
