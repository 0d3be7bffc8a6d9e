#include "run/lane.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "plan/expected.h"
#include "plan/space.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

/* A shorter use of the GPUs does not justify a calibration. */
static const double WORTH_S = 600;

enum { ANSWER_MAX = 1 << 16 };

static const struct energy_meters_gpu *calibration_gpu(const struct lane *lane, size_t place)
{
    return &lane->runner->request->energy_meters
                ->gpus[(lane->resources ? lane->resources->gpu_first : 0) + place];
}

static size_t count_gpus(const struct lane *lane)
{
    const struct energy_meters_options *options = lane->runner->request->energy_meters;
    return !options || !lane->energy_meters ? 0
           : lane->resources                ? lane->resources->gpu_count
                                            : options->gpu_count;
}

/* From its settings, else from earlier runs. */
static struct reading expected_experiment_s(const struct lane *lane,
                                            const struct plan_experiment *experiment)
{
    const struct expected *earlier = lane->runner->request->earlier;
    const struct plan_job *job = &experiment->foreground;
    struct reading epochs = {0};
    if (experiment->expected_s.valid || !earlier || earlier->count == 0)
        return experiment->expected_s;
    for (size_t i = 0; i < job->param_count; i++)
        if (strcmp(job->params[i].name, "epochs") == 0)
            epochs = expected_epochs(&job->params[i].value);
    AUTO_FREE char *context = space_context(job->repo, job->model, experiment->parallel);
    return expected_of(earlier, context, epochs);
}

/* How long this lane will take for the rest. Without an estimate an experiment counts as the mean
 * of those that succeeded, else of those with one. */
static struct reading expected_left_s(const struct lane *lane)
{
    const struct runner *runner = lane->runner;
    const struct store_use *use = store_use(runner->request->store);
    double known_s = 0, unknown = 0, known = 0;
    if (use->succeeded == 0 && !expected_experiment_s(lane, lane->experiment).valid)
        return (struct reading){0};
    for (size_t i = 0; i < runner->plan->count; i++) {
        const struct plan_experiment *experiment = &runner->plan->experiments[i];
        bool taken = runner->assigned[i] && experiment != lane->experiment;
        if (taken || !runner_is_left(runner, experiment->number))
            continue;
        struct reading expected_s = expected_experiment_s(lane, experiment);
        known += expected_s.valid;
        known_s += expected_s.valid ? expected_s.value : 0;
        unknown += !expected_s.valid;
    }
    double mean_s = use->succeeded > 0 ? use->succeeded_s / (double)use->succeeded
                    : known > 0        ? known_s / known
                                       : 0;
    return (struct reading){(known_s + unknown * mean_s) / (double)runner->lane_count, true};
}

/* Estimates again only when twice as many have succeeded. */
static bool is_worth_it(struct lane *lane)
{
    struct lane_calibration *own = &lane->calibration;
    int64_t succeeded = store_use(lane->runner->request->store)->succeeded;
    if (own->estimated && succeeded < 2 * own->estimated_at)
        return false;
    struct reading seconds = expected_left_s(lane);
    own->estimated = seconds.valid;
    own->estimated_at = succeeded > 0 ? succeeded : 1;
    return seconds.valid && seconds.value >= WORTH_S * lane->runner->time_scale;
}

static bool is_gpu_uncalibrated(const struct lane *lane, size_t place)
{
    return calibration_gpu(lane, place)->vendor->cuda &&
           !energy_meters_is_calibrated(lane->energy_meters, place);
}

/* Requires locked GPUs, so that runs of other users notice. */
static bool is_calibration_wanted(struct lane *lane)
{
    const struct run_request *request = lane->runner->request;
    bool any = false;
    if (!request->calibrates || lane->calibration.over || !request->gpu_locks.locks ||
        request->gpu_locks.kind)
        return false;
    for (size_t i = 0; i < count_gpus(lane) && !any; i++)
        any = is_gpu_uncalibrated(lane, i);
    return any && is_worth_it(lane);
}

static int spawn_calibrator(const struct lane *lane, const struct energy_meters_gpu *gpu, int out,
                            pid_t *pid)
{
    char scale[32];
    snprintf(scale, sizeof scale, "%.17g", lane->runner->time_scale);
    const char *argv[] = {TARE_NAME,      "calibrator", "--device",
                          gpu->device,    "--vendor",   gpu->vendor->id,
                          "--time-scale", scale,        gpu->library ? "--library" : NULL,
                          gpu->library,   NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* a Ctrl-C is for the runner */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int error = posix_spawn(pid, "/proc/self/exe", &actions, &attributes,
                            (char *const *)(void *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static void end_calibrator(struct lane_calibration *own)
{
    step_cancel(&own->answer);
    if (own->pid > 0) {
        kill(own->pid, SIGKILL); /* our own child, not reaped */
        waitpid(own->pid, NULL, 0);
    }
    own->pid = 0;
    if (own->fd > 0)
        close(own->fd);
    own->fd = 0;
    text_clear(&own->text);
}

void lane_calibration_cancel(struct lane *lane)
{
    end_calibrator(&lane->calibration);
}

void lane_calibration_fini(struct lane *lane)
{
    end_calibrator(&lane->calibration);
    text_fini(&lane->calibration.text);
}

/* The calibrator's answer. */
struct calibrator_answer {
    const char *outcome, *reason, *sha256;
    struct reading seconds, energy_j;
    const json_t *calibration;
};

#define ANSWER(member) RECORD(struct calibrator_answer, member)
static const struct record_field calibration_fields[] = {ANSWER(sha256), {0}};
static const struct record_field answer_fields[] = {ANSWER(outcome),
                                                    ANSWER(reason),
                                                    ANSWER(seconds),
                                                    ANSWER(energy_j),
                                                    ANSWER(calibration),
                                                    RECORD_GROUP("calibration", calibration_fields),
                                                    {0}};

static char *describe_calibration(const char *label, const struct calibrator_answer *answer,
                                  const char *outcome, const char *reason)
{
    struct text text = {0};
    double seconds = answer->seconds.value;
    bool spent = seconds > 0;
    text_addf(&text, "%s %s", label,
              strcmp(outcome, "made") == 0 ? "was calibrated" : "is not calibrated");
    if (spent && answer->energy_j.valid)
        text_addf(&text, " (%.0f s, %.3g kJ, beside the experiments)", seconds,
                  answer->energy_j.value / 1000);
    else if (spent)
        text_addf(&text, " (%.0f s, beside the experiments)", seconds);
    if (reason)
        text_addf(&text, ": %s", reason);
    return text_take(&text);
}

/* Measures this GPU with it from now on. False: it is of another GPU. */
static bool use_calibration(struct lane *lane, const struct calibrator_answer *answer,
                            struct err *err)
{
    struct calibration calibration;
    const char *digest = answer->sha256;
    if (!calibration_parse(answer->calibration, &calibration, err))
        return false;
    snprintf(calibration.sha256, sizeof calibration.sha256, "%s", digest ? digest : "");
    return energy_meters_calibrate(lane->energy_meters, lane->calibration.place, &calibration) ||
           err_set(err, "the calibration is of another GPU");
}

static void calibrate_next_gpu(struct lane *lane);

static void record_calibration(struct lane *lane, const json_t *answer)
{
    struct lane_calibration *own = &lane->calibration;
    struct err err = {0};
    struct calibrator_answer told = {.outcome = "failed"};
    record_get(answer_fields, answer, &told);
    const char *outcome = told.outcome, *reason = told.reason;
    const char *label = calibration_gpu(lane, own->place)->label;
    if (strcmp(outcome, "made") == 0 && !use_calibration(lane, &told, &err)) {
        outcome = "failed";
        reason = err.text;
    } else if (!reason && strcmp(outcome, "made") != 0) {
        reason = "the process that calibrates it ended";
    }
    AUTO_FREE char *text = describe_calibration(label, &told, outcome, reason);
    json_t *data = json_pack("{s:s, s:s, s:o, s:o*}", "device", label, "outcome", outcome, "reason",
                             json_text_or_null(reason), "text", json_string(text));
    static const char *const taken[] = {"seconds", "energy_j", "memory_bytes", "calibration"};
    EACH_OF (key, taken) {
        json_t *value = json_object_get(answer, *key);
        json_object_set_new(data, *key, value ? json_incref(value) : json_null());
    }
    lane_add_identity(lane, data);
    own->place++;
    runner_record_then(lane->runner, EVENT_CALIBRATION, 0, 0, data, lane, calibrate_next_gpu);
}

static void read_calibrator_answer(struct lane *lane)
{
    struct lane_calibration *own = &lane->calibration;
    char bytes[4096];
    ssize_t got = read(own->fd, bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && own->text.length < ANSWER_MAX) {
        text_add_bytes(&own->text, bytes, (size_t)got);
        return;
    }
    AUTO(json_doc_fini) struct json_doc doc = {0};
    bool good = got == 0 && json_doc_parse("the calibration", text_get(&own->text),
                                           own->text.length, &doc, &(struct err){0});
    end_calibrator(own);
    record_calibration(lane, good ? doc.root : NULL);
}

static bool start_calibrator(struct lane *lane, struct err *err)
{
    struct lane_calibration *own = &lane->calibration;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "make a pipe");
    int error = spawn_calibrator(lane, calibration_gpu(lane, own->place), ends[1], &own->pid);
    own->pid = error ? 0 : own->pid;
    own->fd = ends[0];
    close(ends[1]);
    fcntl(own->fd, F_SETFL, O_NONBLOCK);
    errno = error;
    return !error ? step_on_input(lane, &own->answer, own->fd, read_calibrator_answer) >= 0 ||
                        err_set(err, "cannot wait for it")
                  : err_sys(err, "start the process that calibrates it");
}

static void calibrate_next_gpu(struct lane *lane)
{
    struct lane_calibration *own = &lane->calibration;
    struct err err = {0};
    if (lane->phase != PHASE_CALIBRATING)
        return; /* left meanwhile */
    while (own->place < count_gpus(lane) && !is_gpu_uncalibrated(lane, own->place))
        own->place++;
    if (own->place >= count_gpus(lane) || lane_is_over(lane)) {
        lane_enter_next(lane);
        return;
    }
    if (start_calibrator(lane, &err))
        return;
    end_calibrator(own);
    runner_note(lane->runner, "%s is not calibrated: %s", calibration_gpu(lane, own->place)->label,
                err.text);
    lane_enter_next(lane);
}

void phase_calibrating(struct lane *lane)
{
    if (!is_calibration_wanted(lane)) {
        lane_enter_next(lane);
        return;
    }
    lane->calibration.over = true; /* once a session */
    calibrate_next_gpu(lane);
}
