/* look: what is seen of one GPU at one moment, and what the guard makes of it: findings, before a
 * job and after it. Pure. */
#ifndef TARE_MEASURE_GUARD_LOOK_H
#define TARE_MEASURE_GUARD_LOOK_H

#include "machine/gpu/vendor.h"
#include "plan/config/settings.h"

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
    bool other_user;     /* belongs to another user: this one may not end it */
    bool later;          /* born when the command had ended: none of the attempt's time */
    struct reading memory_bytes, sm_percent;
    const char *text; /* who it is (who_text); borrowed */
};

struct guard_look {
    const char *device;                  /* "GPU 0" */
    const struct gpu_vendor *vendor;     /* NULL: the first of the list */
    int64_t t_ns, first_ns;              /* its last reading, its first */
    const struct gpu_readings *readings; /* NULL: nothing could be read */
    bool listed;                         /* the driver told the processes that compute */
    /* so many more processes were told than there was room for */
    size_t left_out;
    /* the command had ended: its processes go, and their memory a moment later */
    bool ended;
    const struct guard_user *users;
    size_t user_count;
};

/* What the empty, idle GPU is like; each may be absent. */
struct guard_known {
    struct reading empty_bytes;  /* memory in use that is nobody's: the driver's own */
    struct reading idle_power_w; /* the lowest proven baseline */
    struct reading start_c;      /* the coolest start of the run */
};

enum { GUARD_PIDS_MAX = 3 };

struct guard_finding {
    const char *kind; /* of measure/guard/evidence.h */
    char *text;
    int32_t pids[GUARD_PIDS_MAX]; /* of the processes that text names */
    size_t pid_count;
    uint64_t start_time; /* of a single process; 0: unknown */
    bool blocks;         /* the GPU is not free, empty, idle and cool because of it */
    bool holds;          /* a program outside the run has the GPU */
    bool other_user;     /* the process is another user's */
};

struct guard_findings {
    struct guard_finding *items;
    size_t count;
};

/* takes text */
void guard_findings_add(struct guard_findings *findings, struct guard_finding finding);
void guard_findings_fini(struct guard_findings *findings);
bool guard_findings_block(const struct guard_findings *findings);
bool guard_findings_hold(const struct guard_findings *findings);

/* "GPU 0: ...; GPU 1: ...": the texts of those that block. Fresh. */
char *guard_findings_text(const struct guard_findings *findings);

/* A reading of the look, absent when there is none. */
struct reading guard_reading(const struct guard_look *look, enum gpu_reading which);

/* A process that computes here and is nobody's of ours. */
bool guard_is_foreign(const struct guard_user *user);

/* Memory in use beyond the empty GPU's own and the displays'; absent: not known. */
struct reading guard_excess_bytes(const struct guard_look *look, const struct guard_known *known);

/* Learns what an empty GPU uses from the first look at it, less what processes tell to have; never
 * more than an empty one can use. */
void guard_known_learn(struct guard_known *known, const struct guard_look *look);

/* Is a GPU ours, empty, idle and cool? And what is to be done when it is not. Pure. */

/* Adds what speaks against beginning now. */
void preflight_look(const struct preflight_settings *settings, const struct guard_known *known,
                    const struct guard_look *look, struct guard_findings *out);

enum preflight_step {
    PREFLIGHT_CLEAR,   /* nothing blocks */
    PREFLIGHT_LOOK_ON, /* look again in a moment */
    PREFLIGHT_STOP,    /* by the policy refuse, or by wait when a holder did not go */
    PREFLIGHT_OVERRIDE /* begin all the same */
};

/* waited_s: as guard_holders_add returns it. settling: a job of ours ran just before, whose heat
 * and power are still going down. One check alone that finds something is not trusted. scale: of
 * tare's own times. */
enum preflight_step preflight_decide(const struct preflight_settings *settings,
                                     const struct guard_findings *findings, double waited_s,
                                     bool settling, double scale);

/* Evidence of an attempt that begins all the same: every finding, whatever the policy is; after a
 * wait went_on_after_wait adds how long it was (waited_s). */
void preflight_evidence(const struct preflight_settings *settings,
                        const struct guard_findings *findings, double waited_s,
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

/* since_s: since the job was proven gone. Once the state is not WAIT, evidence is added to out.
 * scale: of tare's own times. */
enum postflight_state postflight_judge(const struct preflight_settings *settings,
                                       const struct guard_known *known,
                                       const struct guard_look *look,
                                       const struct postflight_times *times, double since_s,
                                       double scale, struct guard_findings *out);

/* cooldown: how long a pause lasts, and what the idle GPU draws. Pure. */

/* One GPU in a pause. */
struct cooldown {
    size_t calm_looks; /* in a row that found it idle and cool */
    struct reading lowest_c, last_power_w;
};

void cooldown_begin(struct cooldown *cooldown);

/* Whether it has settled: power at the idle baseline, temperature at its start value, or not
 * falling any more where these are not known; in two looks that follow each other. A GPU that tells
 * neither power nor temperature never has. */
bool cooldown_look(struct cooldown *cooldown, const struct guard_known *known,
                   const struct guard_look *look);

enum cooldown_state {
    COOLDOWN_GOES_ON,
    COOLDOWN_OVER,    /* settled, and long enough */
    COOLDOWN_AT_LIMIT /* the longest time is over */
};

/* all_settled: every GPU of the lane. planned_s: the pause of the settings, which is what counts
 * when the mode is fixed, or no GPU tells anything (blind). scale: of tare's own times. */
enum cooldown_state cooldown_decide(const struct cooldown_settings *settings, double planned_s,
                                    double since_s, bool all_settled, bool blind, double scale);

/* What a GPU drew in a window in which it was idle. */
struct idle_window {
    bool proven; /* nobody was on it, before and after the window, and its power did not change */
    double seconds, power_w, half_width_w;
    double drift_w; /* the second half's power less the first's */
};

/* Whether the power was even enough to be an idle GPU's, and not that of one that is still
 * settling. */
bool idle_is_even(const struct idle_window *window);

struct idle_net {
    struct reading energy_j, half_width_j;
};

/* An attempt's energy less what the bare GPU would have drawn in its time: the mean of the windows
 * before and after it; their read-outs, and 95 % of half their difference as drift, go into the
 * half-width. Absent unless both are proven. */
struct idle_net idle_net_of(const struct idle_window *before, const struct idle_window *after,
                            struct reading gross_j, struct reading gross_half_width_j,
                            double duration_s);

/* watch: what happens on a GPU while an attempt is measured: from a look about once a second to
 * evidence with time spans. Pure: times come with the looks. */

/* One thing that was seen to last. */
struct watch_span {
    const char *kind; /* of measure/guard/evidence.h */
    int32_t pid;      /* of a process, else 0 */
    uint64_t start_time;
    char *text;
    /* it was there in between at most: from the look before it to the look after it */
    int64_t from_ns, to_ns;
    int64_t seen_ns; /* the last look that saw it */
    bool open;
    bool told;    /* that it began */
    size_t times; /* spans that were joined to this one */
};

struct watch {
    const char *device; /* borrowed */
    int64_t start_ns, looked_ns;
    struct watch_span *spans;
    size_t count;
    struct reading ecc, xids, limit_w;   /* as last seen */
    unsigned unseen_looks, silent_looks; /* in a row */
    double tolerance_bytes;
};

/* An attempt begins. device: borrowed. tolerance_bytes: memory that is nobody's. before: the last
 * readings before it, from which errors are counted; NULL: there are none. */
void watch_begin(struct watch *watch, const char *device, int64_t start_ns, double tolerance_bytes,
                 const struct gpu_readings *before);
void watch_take(struct watch *watch, const struct guard_known *known,
                const struct guard_look *look);

/* The next span that began and was not told yet; NULL: none. For people who look on. */
const struct watch_span *watch_news(struct watch *watch);

/* The attempt has ended: what is still open lasts until then. */
void watch_end(struct watch *watch, int64_t end_ns);
void watch_fini(struct watch *watch);

#endif
