/* Whole experiments, made up at random: what was planted on the GPU is known, so the verdict is
 * too. None may be missed, and no clean one accused. */
#include "measure/guard/evidence.h"
#include "measure/guard/holders.h"
#include "measure/guard/look.h"

#include "base/rng.h"
#include "scene.h"

#include <stdio.h>

enum { SCENARIOS = SANITIZED ? 600 : 3000 };

enum plant {
    PLANT_NOTHING,
    PLANT_BEFORE_AND_GONE, /* leaves while it is waited for */
    PLANT_BEFORE_IDLE,     /* stays, and does nothing */
    PLANT_BEFORE_WORKING,
    PLANT_DURING,
    PLANT_AFTER,
    PLANT_DELEGATED, /* born during the job, still there after it */
    PLANT_LEAK,
    PLANT_BRAKE,
    PLANT_SOFT_BRAKE,
    PLANT_UNSEEN,        /* processes cannot be mapped */
    PLANT_UNSEEN_BEFORE, /* and somebody holds memory from before on */
    PLANT_HOT,
    PLANTS
};

struct truth {
    enum plant plant;
    int policy;
    double duration_s, from_s, to_s; /* of what is planted, from the job's start */
    double job_mib, outsider_mib, returns_s;
    bool display, tells_own; /* a display's process; the driver tells its own memory apart */
    double ambient_c;
};

/* Somebody is there before it and stays: by the policy wait it does not begin. */
static bool must_stop(const struct truth *truth)
{
    bool held = truth->plant == PLANT_BEFORE_IDLE || truth->plant == PLANT_BEFORE_WORKING ||
                truth->plant == PLANT_UNSEEN_BEFORE;
    return held && truth->policy == PREFLIGHT_WAIT;
}

/* The policy is not part of it. */
static enum verdict expected(const struct truth *truth)
{
    switch (truth->plant) {
    case PLANT_UNSEEN:
        return VERDICT_UNVERIFIED;
    case PLANT_BEFORE_IDLE:
    case PLANT_UNSEEN_BEFORE:
    case PLANT_HOT:
    case PLANT_BEFORE_WORKING:
    case PLANT_DURING:
    case PLANT_DELEGATED:
    case PLANT_BRAKE:
        return VERDICT_CONTAMINATED;
    case PLANT_LEAK:
    case PLANT_SOFT_BRAKE:
        return VERDICT_SUSPECT;
    default:
        return VERDICT_CLEAN;
    }
}

static double between(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_unit(rng);
}

static struct truth make_truth(struct rng *rng, int number)
{
    struct truth truth = {.plant = (enum plant)(number % PLANTS),
                          .policy = rng_unit(rng) < 0.7 ? PREFLIGHT_WAIT : PREFLIGHT_GO_ON,
                          .duration_s = between(rng, 3, 120),
                          .job_mib = between(rng, 200, 100000),
                          .outsider_mib = between(rng, 100, 20000),
                          .returns_s = between(rng, 0, 8),
                          .display = rng_unit(rng) < 0.3,
                          .tells_own = rng_unit(rng) < 0.7,
                          .ambient_c = between(rng, 20, 45)};
    /* Looks come once a second: what lasts longer is seen. */
    truth.from_s = between(rng, 0, truth.duration_s - 1.5);
    truth.to_s = between(rng, truth.from_s + 1.3, truth.duration_s);
    if (truth.plant == PLANT_DELEGATED)
        truth.to_s = 1e9;
    if (truth.plant == PLANT_BEFORE_AND_GONE)
        truth.policy = PREFLIGHT_WAIT;
    return truth;
}

/* What the GPU shows at a moment, seconds from the job's start; preflight is before 0. */
static size_t show(const struct truth *truth, double at_s, struct rng *rng,
                   struct gpu_readings *readings, struct guard_user users[3])
{
    bool runs = at_s >= 0 && at_s < truth->duration_s,
         planted = at_s >= truth->from_s && at_s < truth->to_s;
    bool unseen = truth->plant == PLANT_UNSEEN || truth->plant == PLANT_UNSEEN_BEFORE,
         outsider = false;
    bool works = truth->plant == PLANT_BEFORE_WORKING;
    double used = truth->tells_own ? between(rng, 0, 3) : 615, job = 0;
    size_t count = 0;
    *readings = scene_idle();
    readings->of[GPU_MEMORY_RESERVED_BYTES].valid = truth->tells_own;
    scene_set(readings, GPU_TEMPERATURE_C, truth->ambient_c + between(rng, -2, 2));
    scene_set(readings, GPU_POWER_INSTANT_W, between(rng, 76, 80));
    scene_set(readings, GPU_UTILISATION_PERCENT, between(rng, 0, 3));
    if (runs) {
        job = truth->job_mib;
        scene_set(readings, GPU_TEMPERATURE_C, truth->ambient_c + 30);
        scene_set(readings, GPU_POWER_INSTANT_W, between(rng, 300, 710));
        scene_set(readings, GPU_UTILISATION_PERCENT, between(rng, 60, 100));
        scene_set(readings, GPU_CLOCK_REASONS,
                  rng_unit(rng) < 0.5 ? GPU_CLOCK_POWER_CAP : GPU_CLOCK_SYNC_BOOST);
        users[count++] = scene_user(unseen ? GUARD_UNSEEN : GUARD_OURS, 100, job, 90);
    } else if (at_s >= truth->duration_s && at_s < truth->duration_s + truth->returns_s) {
        job = truth->job_mib; /* a moment late, as drivers are */
    }
    if (truth->display) {
        used += 300;
        users[count] = scene_user(GUARD_FOREIGN, 50, 300, 1);
        users[count++].graphics = true;
    }
    switch (truth->plant) {
    case PLANT_BEFORE_AND_GONE:
        outsider = at_s < -100;
        break;
    case PLANT_BEFORE_IDLE:
    case PLANT_BEFORE_WORKING:
    case PLANT_UNSEEN_BEFORE:
        outsider = true;
        break;
    case PLANT_DURING:
    case PLANT_DELEGATED:
        outsider = planted;
        break;
    case PLANT_AFTER:
        outsider = at_s > truth->duration_s + 0.2;
        break;
    case PLANT_LEAK:
        used += at_s > 0 ? truth->outsider_mib : 0;
        break;
    case PLANT_BRAKE:
        if (planted)
            scene_set(readings, GPU_CLOCK_REASONS, GPU_CLOCK_HW_THERMAL | GPU_CLOCK_HW_SLOWDOWN);
        break;
    case PLANT_SOFT_BRAKE:
        if (planted)
            scene_set(readings, GPU_CLOCK_REASONS, GPU_CLOCK_SW_THERMAL);
        break;
    case PLANT_HOT:
        if (at_s < 0)
            scene_set(readings, GPU_TEMPERATURE_C, truth->ambient_c + 25);
        break;
    default:
        break;
    }
    if (outsider) {
        used += truth->outsider_mib;
        users[count] = scene_user(unseen ? GUARD_UNSEEN : GUARD_FOREIGN, 200, truth->outsider_mib,
                                  works ? 50 : 0);
        users[count].start_time = truth->plant == PLANT_DELEGATED ? 1500
                                  : truth->plant == PLANT_AFTER   ? 2500
                                                                  : 10;
        users[count++].known = at_s >= 0 && truth->plant != PLANT_DURING &&
                               truth->plant != PLANT_DELEGATED && truth->plant != PLANT_AFTER;
    }
    scene_set(readings, GPU_MEMORY_USED_BYTES, (used + job) * MIB);
    return count;
}

struct attempt_judged {
    enum verdict verdict;
    char kinds[400];
};

static void judge(struct attempt_judged *judged, const char *kind)
{
    judged->verdict = verdict_with(judged->verdict, kind);
    if (strlen(judged->kinds) + strlen(kind) + 2 < sizeof judged->kinds)
        sprintf(judged->kinds + strlen(judged->kinds), " %s", kind);
}

static void judge_all(struct attempt_judged *judged, struct guard_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        judge(judged, findings->items[i].kind);
    guard_findings_fini(findings);
}

static int64_t ns_of(double at_s)
{
    return 10000 * S + (int64_t)(at_s * 1e9);
}

/* Whether it begins. */
static bool fly_before(const struct truth *truth, struct rng *rng, struct guard_known *known,
                       struct attempt_judged *judged)
{
    struct preflight_settings settings = guard_settings_default.preflight;
    struct guard_holders holders = {0};
    settings.policy = truth->policy;
    settings.wait_s = 600;
    for (double at_s = -700;; at_s += 0.5) {
        struct gpu_readings readings;
        struct guard_user users[3];
        struct guard_findings found = {0}, evidence = {0};
        size_t count = show(truth, at_s, rng, &readings, users);
        struct guard_look look = scene_look(ns_of(at_s), &readings, users, count);
        guard_known_learn(known, &look);
        preflight_look(&settings, known, &look, &found);
        double waited_s = guard_holders_add(&holders, &found, at_s + 700);
        enum preflight_step step = preflight_decide(&settings, &found, waited_s, true, 1);
        if (step == PREFLIGHT_CLEAR || step == PREFLIGHT_OVERRIDE)
            preflight_evidence(&settings, &found, at_s + 700, &evidence);
        guard_findings_fini(&found);
        judge_all(judged, &evidence);
        if (step == PREFLIGHT_LOOK_ON)
            continue;
        guard_holders_fini(&holders);
        return step != PREFLIGHT_STOP;
    }
}

static void fly(const struct truth *truth, struct rng *rng, struct guard_known *known,
                struct attempt_judged *judged)
{
    struct watch watch = {0};
    double at_s = 0;
    watch_begin(&watch, "GPU 0", ns_of(0), 64 * MIB, NULL);
    /* The last look comes when the command has ended. */
    while (at_s < truth->duration_s) {
        struct gpu_readings readings;
        struct guard_user users[3];
        at_s += between(rng, 1, 1.12);
        if (at_s > truth->duration_s)
            at_s = truth->duration_s + 0.05;
        size_t count = show(truth, at_s, rng, &readings, users);
        struct guard_look look = scene_look(ns_of(at_s), &readings, users, count);
        watch_take(&watch, known, &look);
    }
    watch_end(&watch, ns_of(truth->duration_s));
    for (size_t i = 0; i < watch.count; i++) {
        const struct watch_span *span = &watch.spans[i];
        judge(judged, span->kind);
        assert_true(span->from_ns >= ns_of(0) && span->from_ns <= span->to_ns &&
                    span->to_ns <= ns_of(truth->duration_s));
        /* The span holds all of what was planted. */
        if (truth->plant == PLANT_DURING || truth->plant == PLANT_BRAKE)
            assert_true(span->from_ns <= ns_of(truth->from_s) &&
                        span->to_ns >= ns_of(truth->to_s < truth->duration_s ? truth->to_s
                                                                             : truth->duration_s));
    }
    watch_fini(&watch);
}

static void fly_after(const struct truth *truth, struct rng *rng, struct guard_known *known,
                      struct attempt_judged *judged)
{
    struct postflight_times times = {1000, 2000};
    for (double since_s = 0.3;; since_s += 0.1) {
        struct gpu_readings readings;
        struct guard_user users[3];
        struct guard_findings found = {0};
        size_t count = show(truth, truth->duration_s + since_s, rng, &readings, users);
        struct guard_look look =
            scene_look(ns_of(truth->duration_s + since_s), &readings, users, count);
        enum postflight_state state = postflight_judge(&guard_settings_default.preflight, known,
                                                       &look, &times, since_s, 1, &found);
        judge_all(judged, &found);
        if (state == POSTFLIGHT_WAIT)
            continue;
        assert_int_equal(state == POSTFLIGHT_LEAKED, truth->plant == PLANT_LEAK);
        return;
    }
}

static void none_is_missed_and_no_clean_one_accused(void **state)
{
    (void)state;
    struct rng rng;
    size_t of_verdict[VERDICTS] = {0};
    rng_seed(&rng, 20261121);
    for (int i = 0; i < SCENARIOS; i++) {
        struct truth truth = make_truth(&rng, i);
        /* What earlier experiments of the run have shown of the idle GPU. */
        struct guard_known known = {.idle_power_w = {78, true}, .start_c = {truth.ambient_c, true}};
        struct attempt_judged judged = {.verdict = VERDICT_CLEAN};
        struct gpu_readings readings;
        struct guard_user users[3];
        struct truth quiet = truth;
        quiet.plant = PLANT_NOTHING;
        size_t count = show(&quiet, -1000, &rng, &readings, users);
        struct guard_look look = scene_look(ns_of(-1000), &readings, users, count);
        guard_known_learn(&known, &look);
        bool begins = fly_before(&truth, &rng, &known, &judged);
        assert_int_equal(begins, !must_stop(&truth));
        if (!begins)
            continue;
        fly(&truth, &rng, &known, &judged);
        fly_after(&truth, &rng, &known, &judged);
        if (judged.verdict != expected(&truth))
            fail_msg("scenario %d (plant %d, policy %d, %.1f s, planted %.1f to %.1f s, %.0f MiB): "
                     "%s, found:%s",
                     i, (int)truth.plant, truth.policy, truth.duration_s, truth.from_s, truth.to_s,
                     truth.outsider_mib, verdict_name(judged.verdict), judged.kinds);
        of_verdict[judged.verdict]++;
    }
    assert_true(of_verdict[VERDICT_CLEAN] > SCENARIOS / 6);
    assert_true(of_verdict[VERDICT_UNVERIFIED] > SCENARIOS / 15);
    assert_true(of_verdict[VERDICT_SUSPECT] > SCENARIOS / 8);
    assert_true(of_verdict[VERDICT_CONTAMINATED] > SCENARIOS / 6);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(none_is_missed_and_no_clean_one_accused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
