/* look: what is seen of one GPU at one moment, and what the guard makes of it: findings, before a job and after it. Pure. */
#ifndef TARE_MEASURE_GUARD_LOOK_H
#define TARE_MEASURE_GUARD_LOOK_H

#include "machine/gpu/vendor.h"
#include "plan/config/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum guard_owner {
    GUARD_OURS,    /* of a job of this lane */
    GUARD_FOREIGN, /* /proc knows it, and it is none of ours */
    GUARD_UNSEEN   /* the driver names a number that /proc does not show: owner unknown */
};

/* A process on the GPU. */
struct guard_user {
    enum guard_owner owner;
    int32_t pid;
    uint64_t start_time; /* ticks since boot; 0: unknown */
    bool graphics;       /* it only draws, as a display does: belongs to the empty GPU */
    bool known;          /* was there when the attempt began, and was told then */
    bool later;          /* born when the command had ended: none of the attempt's time */
    struct reading memory_bytes, sm_percent;
    const char *text;    /* who it is (who_text); borrowed */
};

struct guard_look {
    const char *device; /* "GPU 0" */
    const struct gpu_vendor *vendor; /* NULL: the first of the list */
    int64_t t_ns, first_ns; /* its last reading, its first */
    const struct gpu_readings *readings; /* NULL: nothing could be read */
    bool listed;                         /* the driver told the processes that compute */
    size_t left_out;                     /* so many more processes were told than there was room for */
    bool ended;                          /* the command had ended: its processes go, and their memory a moment later */
    const struct guard_user *users;
    size_t user_count;
};

/* What the empty, idle GPU is like; each may be absent. */
struct guard_known {
    struct reading empty_bytes;   /* memory in use that is nobody's: the driver's own */
    struct reading idle_power_w;  /* the lowest proven baseline */
    struct reading start_c;       /* the coolest start of the run */
};

enum { GUARD_PIDS_MAX = 3 };

struct guard_finding {
    const char *kind; /* of measure/guard/evidence.h */
    char *text;
    int32_t pids[GUARD_PIDS_MAX]; /* of the processes that text names */
    size_t pid_count;
    bool blocks; /* the GPU is not free, empty, idle and cool because of it */
    bool works;  /* something works on the GPU: it does not become harmless by being there for long */
};

struct guard_findings {
    struct guard_finding *items;
    size_t count, capacity;
};

void guard_findings_add(struct guard_findings *findings, struct guard_finding finding); /* takes text */
void guard_findings_fini(struct guard_findings *findings);
bool guard_findings_block(const struct guard_findings *findings);

/* "GPU 0: ...; GPU 1: ...": the texts of those that block. Fresh. */
char *guard_findings_text(const struct guard_findings *findings);

/* A reading of the look, absent when there is none. */
struct reading guard_reading(const struct guard_look *look, enum gpu_reading which);

/* A process that computes here and is nobody's of ours. */
bool guard_is_foreign(const struct guard_user *user);

/* Memory in use beyond the empty GPU's own and the displays'; absent: not known. */
struct reading guard_excess_bytes(const struct guard_look *look, const struct guard_known *known);

/* Learns what an empty GPU uses from the first look at it, less what processes tell to have; never more than an empty one
 * can use. */
void guard_known_learn(struct guard_known *known, const struct guard_look *look);

/* Is a GPU ours, empty, idle and cool? And what is to be done when it is not. Pure. */

/* Adds what speaks against beginning now. */
void preflight_look(const struct preflight_settings *settings, const struct guard_known *known,
                    const struct guard_look *look, struct guard_findings *out);

enum preflight_step {
    PREFLIGHT_CLEAR,    /* nothing blocks */
    PREFLIGHT_LOOK_ON,  /* look again in a moment */
    PREFLIGHT_STOP,     /* by the policy refuse */
    PREFLIGHT_OVERRIDE  /* begin all the same */
};

/* looked_s: since the first look. settling: a job of ours ran just before, whose heat and power are still going. One look that
 * finds something is not believed alone. scale: of tare's own times. */
enum preflight_step preflight_decide(const struct preflight_settings *settings, const struct guard_findings *findings,
                                     double looked_s, bool settling, double scale);

/* What the attempt has as evidence when it begins all the same: after a wait, what has only been there is one suspicion
 * (went_on_after_wait); what works on the GPU, and all when nobody waited, counts as what it is. waited_s: so long. */
void preflight_evidence(const struct preflight_settings *settings, const struct guard_findings *findings, double waited_s,
                        struct guard_findings *out);

/* Has a GPU given back what a job had of it, and if not, who has it? Pure. */

enum postflight_state {
    POSTFLIGHT_BACK,   /* empty again */
    POSTFLIGHT_WAIT,   /* look again in a moment */
    POSTFLIGHT_HELD,   /* others have the rest: named */
    POSTFLIGHT_LEAKED, /* nobody has it: the GPU is not to be used any more */
    POSTFLIGHT_UNKNOWN /* what remains cannot be attributed here */
};

/* When the job was born and when its command ended, in ticks since boot as start times are. */
struct postflight_times {
    uint64_t born, ended;
};

/* since_s: since the job was proven gone. Once the state is not WAIT, evidence is added to out. scale: of tare's own times. */
enum postflight_state postflight_judge(const struct preflight_settings *settings, const struct guard_known *known,
                                       const struct guard_look *look, const struct postflight_times *times, double since_s,
                                       double scale, struct guard_findings *out);

#endif
