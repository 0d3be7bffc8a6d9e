#include "measure/guard/evidence.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tare_build.h"

#include <math.h>
#include <string.h>

enum {
    NOTHING = 0,
    TIME = 1 << QUANTITY_TIME,
    ENERGY = 1 << QUANTITY_ENERGY,
    METRIC = 1 << QUANTITY_METRIC,
    TIME_ENERGY = TIME | ENERGY,
    ALL = TIME | ENERGY | METRIC
};

/* clang-format off */
static const struct check_kind checks[CHECKS] = {
    [CHECK_PROCESSES_BEFORE] = {"processes_before", TIME_ENERGY, true,
        "No process of anybody else had the GPU when the experiment began.",
        "Run where the processes that use the GPU can be seen (--pid=host, no hidepid).",
        "GPU processes before the start"},
    [CHECK_PROCESSES_DURING] = {"processes_during", TIME_ENERGY, true,
        "No process of anybody else had the GPU while it was measured.",
        "Run where the processes that use the GPU can be seen (--pid=host, no hidepid).",
        "GPU processes while it ran"},
    [CHECK_PROCESSES_AFTER] = {"processes_after", TIME_ENERGY, true,
        "No process of the job was left when it had ended, and none worked for it outside.",
        "Run with containment that the kernel backs ('" TARE_NAME " doctor' says which).",
        "processes left after the end"},
    [CHECK_IDLE_BEFORE] = {"idle_before", TIME_ENERGY, true,
        "The GPU was idle, empty and cool when the experiment began.",
        "Run on a GPU, and with a driver, that tells its memory and its utilisation or power.",
        "GPU state before the start"},
    [CHECK_BASELINE] = {"baseline", NOTHING, true,
        "The power that the empty GPU draws was measured before the experiment; energy net of the "
        "idle draw needs it, nothing else does.",
        "Lengthen the pause, or look why the sensor gave nothing.",
        "power of the empty GPU"},
    [CHECK_BACKGROUND_LOAD] = {"background_load", TIME_ENERGY, true,
        "The background training of a parallel experiment loaded the GPU for the whole time.",
        "Run where the GPU use of a process can be seen.",
        "load of the background"},
    [CHECK_OTHER_CPU] = {"other_cpu", TIME_ENERGY, true,
        "Other programs left the processors to the experiment.",
        "Run where /proc shows all processes and the machine's counters.",
        "CPU use of other programs"},
    [CHECK_SAMPLING] = {"sampling", ENERGY, true,
        "The sensors were read for the whole time, and their readings agree.",
        "Run where the sensor can be read until the end.",
        "sensor readings for the whole time"},
    [CHECK_LENGTH] = {"length", TIME_ENERGY, true,
        "The training ran without a pause, for long enough to be measured.",
        "Let the training last longer.",
        "time without pauses"},
    [CHECK_THROTTLING] = {"throttling", TIME_ENERGY, true,
        "Neither heat nor the power supply slowed the GPU down.",
        "Run on a GPU, and with a driver, that tells why its clocks are low.",
        "reasons of lower GPU clocks"},
    [CHECK_MEMORY_BACK] = {"memory_back", TIME_ENERGY, true,
        "The GPU's memory came back when the job was gone.",
        "Run on a GPU, and with a driver, that tells its memory in use.",
        "GPU memory after the end"},
    [CHECK_METRIC_PLAUSIBLE] = {"metric_plausible", METRIC, true,
        "Every metric that was found is a finite number.",
        "Look at the training's log and at the patterns of the registry.",
        "metrics"},
    [CHECK_LIKE_TIME] = {"like_time", TIME_ENERGY, false,
        "It took as long as other experiments of its kind under like conditions.",
        "Run more experiments of the same model and mode.",
        "time of comparable experiments"},
    [CHECK_LIKE_ENERGY] = {"like_energy", ENERGY, false,
        "It used as much energy as other experiments of its kind under like conditions.",
        "Run more experiments of the same model and mode.",
        "energy of comparable experiments"},
    [CHECK_LIKE_POWER] = {"like_power", TIME_ENERGY, false,
        "It drew the power that other experiments of its kind draw under like conditions.",
        "Run more experiments of the same model and mode.",
        "power of comparable experiments"},
    [CHECK_DATA] = {"data", ALL, false,
        "The figures of the files are possible, and agree with each other.",
        "Look for a whole copy of the files.",
        "agreement of the files"},
};

static const struct evidence_kind kinds[] = {
    /* The machine before the measurement. */
    {"foreign_process", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_PROCESSES_DURING,
     "A process that is none of this experiment's had the GPU, before it or while it was measured.",
     "Look who owns the process that is named, agree with its owner, and repeat the experiment."},
    {"gpu_busy_before", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_IDLE_BEFORE,
     "The GPU was working, or drew more than when it is idle, before the experiment had begun.",
     "Find out what uses the GPU (nvidia-smi, also outside the container), and repeat the "
     "experiment when it is idle."},
    {"memory_not_empty", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_IDLE_BEFORE,
     "GPU memory was in use before the experiment had begun.",
     "End what holds it; where no process does, reset the GPU (nvidia-smi --gpu-reset) or restart "
     "the machine."},
    {"hot_start", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_IDLE_BEFORE,
     "The experiment began on a GPU whose temperature was outside the start band.",
     "Lengthen the pause or use the adaptive cooldown; widen the band if the room has become "
     "warmer."},
    {"brake_before", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_IDLE_BEFORE,
     "The GPU was slowed down by heat or by its power supply when the experiment began.",
     "Look after cooling and power supply of the GPU, and repeat the experiment."},
    {"went_on_after_wait", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_IDLE_BEFORE,
     "The machine was not clean, did not become so in the time allowed, and the experiment was "
     "begun all the same.",
     "Repeat it on a clean machine, lengthen the wait, or let the settings refuse instead."},
    {"processes_unseen", EVIDENCE_UNVERIFIED, TIME_ENERGY, CHECK_PROCESSES_BEFORE,
     "Which processes use the GPU could not be seen, so nobody can say that there was no other.",
     "Run outside the container, or let it share the host's process numbers (--pid=host), or "
     "without hidepid."},
    {"gpu_state_unchecked", EVIDENCE_UNVERIFIED, TIME_ENERGY, CHECK_IDLE_BEFORE,
     "Whether the GPU was idle and empty before the experiment could not be seen: the driver does "
     "not tell what that takes.",
     "Run on a GPU, and with a driver, that tells its utilisation or power and its memory "
     "(nvidia-smi -q shows what it tells)."},
    {"gpu_lock_untrusted", EVIDENCE_UNVERIFIED, TIME_ENERGY, CHECK_PROCESSES_BEFORE,
     "Another user could take the lock on the GPU away, or did, so it does not say that no other "
     "run used the GPU.",
     "Run 'sudo " TARE_NAME " doctor' once: it makes the folder of the locks root's; then repeat "
                            "the experiment."},
    {"gpu_lock_unshared", EVIDENCE_RECORDED, TIME_ENERGY, CHECK_PROCESSES_BEFORE,
     "No lock on the GPU was held that other users' runs see: that nobody used it was judged by "
     "its processes alone.",
     "Nothing needs to be done where nobody else uses the machine; else run "
     "'sudo " TARE_NAME " doctor' once."},
    {"baseline_unknown", EVIDENCE_RECORDED, ENERGY, CHECK_BASELINE,
     "What the empty GPU draws could not be measured, so there is no energy net of the idle draw.",
     "Nothing needs to be done unless net energies are wanted: lengthen the pause, or look why the "
     "sensor gave nothing."},
    {"governor_not_set", EVIDENCE_RECORDED, TIME_ENERGY, CHECK_NONE,
     "The CPU frequency governor that the settings ask for could not be set: the CPU ran under "
     "another one.",
     "Compare only with experiments under the same governor; set it by hand before the run (the "
     "text says how)."},

    /* While it was measured. */
    {"hw_thermal", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_THROTTLING,
     "The GPU's hardware slowed it down because it was too hot.",
     "Look after its cooling (dust, fans, air), and repeat the experiment."},
    {"hw_power_brake", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_THROTTLING,
     "The GPU's hardware slowed it down because the power supply asked for it.",
     "Look after the power supply and its cables, and repeat the experiment."},
    {"hw_slowdown", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_THROTTLING,
     "The GPU's hardware slowed it down, by heat or power, without saying which.",
     "Look after cooling and power supply of the GPU, and repeat the experiment."},
    {"sw_thermal", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_THROTTLING,
     "The driver lowered the GPU's clocks to keep it below its temperature limit.",
     "Look after its cooling, or lower the power limit so that the clocks stay even."},
    {"power_limit_changed", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_THROTTLING,
     "Somebody changed the power limit of the GPU while it was measured.",
     "Find out who did (nvidia-smi -pl, a power daemon), and repeat the experiment under one "
     "limit."},
    {"ecc", EVIDENCE_CONTAMINATED, ALL, CHECK_NONE,
     "The GPU met a memory error that it could not correct.",
     "Look at nvidia-smi -q -d ECC,ROW_REMAPPER; have the GPU reset, and exchanged if it comes "
     "again."},
    {"xid", EVIDENCE_CONTAMINATED, ALL, CHECK_NONE,
     "The driver reported a fault of the GPU (an Xid that programs do not cause).",
     "Look up the number at docs.nvidia.com/deploy/xid-errors and in the kernel's log, and repeat "
     "the experiment."},
    {"xid_program", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The driver reported a fault that a program caused (an Xid of a crashed or killed program).",
     "Look at the training's log; the measurement itself stands."},
    {"host_pressure", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_OTHER_CPU,
     "The machine was short of memory or disks for a good part of the time, and the job waited.",
     "Look what else ran; if it was the training itself, give it more memory or fewer workers."},
    {"cpu_shared", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_OTHER_CPU,
     "Other programs, or other guests of the same machine, took more than 5 % of the CPU time, and "
     "the job waited.",
     "Stop what else runs on the machine, and repeat the experiment."},
    {"cpu_unchecked", EVIDENCE_UNVERIFIED, TIME_ENERGY, CHECK_OTHER_CPU,
     "Whether other programs used the processors, or delayed the job, could not be seen.",
     "Run outside the container (--pid=host), without hidepid, for a second or longer; '" TARE_NAME
     " doctor' says how jobs get a cgroup."},
    {"cpu_contended", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_OTHER_CPU,
     "Programs had to wait for a processor, while the run's other experiments, on other GPUs, used "
     "a good part of them.",
     "Give the trainings fewer workers, run fewer at a time, or keep this one alone "
     "(\"isolation\": \"exclusive\")."},
    {"memory_growth", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The job's GPU memory grew steadily, so that it would run out.",
     "Look at docs/reference/memory.md for what keeps memory; the measurement itself stands."},
    {"gpu_unused", EVIDENCE_SUSPECT, ALL, CHECK_DATA,
     "A training that was to use a GPU used none: it allocated nothing on it, and the GPU was "
     "never busy.",
     "Look in its log for the device it took (is CUDA found? is an option missing?); name models "
     "without a GPU in \"cpu_models\"."},
    {"old_checkpoint", EVIDENCE_RECORDED, METRIC, CHECK_NONE,
     "A checkpoint that is older than the attempt was read while it ran: its metrics may be "
     "another training's.",
     "Let each training write to a folder of its own, or say \"reads_checkpoints\" in the registry "
     "if that is meant."},
    {"shared_checkpoint", EVIDENCE_SUSPECT, METRIC, CHECK_NONE,
     "A checkpoint that another experiment of the run had written was read: the metrics may be "
     "that experiment's.",
     "Let each experiment write to a folder of its own ({dir}), or set \"reads_checkpoints\" in "
     "the "
     "registry if that is meant."},
    {"checkpoints_not_checked", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The working folder holds too many files to watch all older checkpoints; recorded once in a "
     "run.",
     "Start the training in a smaller folder, or keep data elsewhere."},
    {"gpu_limit_not_held", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_NONE,
     "The job was not held to its limit of GPU memory, or nobody can say that it was.",
     "Run a program that loads the CUDA driver dynamically and keeps LD_PRELOAD; "
     "docs/reference/memory.md says what is followed."},
    {"gpu_memory_not_followed", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The job's GPU memory was to be counted inside it, and was not, or not all of it.",
     "Run a program that loads the CUDA driver dynamically and keeps LD_PRELOAD; the sampled "
     "figures stand."},
    {"gpu_context_assumed", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "What the job's CUDA contexts hold counts towards its limit, and had to be assumed.",
     "Run where the driver lists processes by the numbers that they have themselves (not in a "
     "container of its own)."},
    {"governor_changed", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_NONE,
     "Somebody changed the CPU frequency governor that had been set for the experiment while it "
     "ran.",
     "Find out what changes it (a power daemon, another user), and repeat the experiment."},
    {"suspend", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_LENGTH,
     "The machine slept while it was measured.",
     "Keep it awake (systemd-inhibit --what=sleep, or the settings of its lid), and repeat the "
     "experiment."},
    {"runner_stopped", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_SAMPLING,
     "The program that measures stood still for a while: what the log said then is stamped late, "
     "and sensors may not have been read.",
     "Leave it running in the foreground or under tmux (no kill -STOP, no debugger), and repeat "
     "the experiment."},
    {"guardian_absent", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "For a while no guardian stood beside the run, which ends its jobs when it is killed; it was "
     "not, and nothing was disturbed.",
     "Find out who ended or stopped the guardian; the measurement itself stands."},
    {"job_stopped", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_LENGTH,
     "The training, or a process of it, was stopped for a while (SIGSTOP, a debugger): time and "
     "energy contain that pause.",
     "Find out who stopped it, and repeat the experiment."},
    {"sampling_gap", EVIDENCE_SUSPECT, ENERGY, CHECK_SAMPLING,
     "A sensor was not read for a while: what happened in it, nobody saw.",
     "Look at the reason given; the energy's half-width says what the gap costs."},
    {"counter_backwards", EVIDENCE_SUSPECT, ENERGY, CHECK_SAMPLING,
     "An energy counter went backwards; it was ignored there, and the power samples were used "
     "instead.",
     "Look whether the driver was reloaded or the GPU reset, and repeat the experiment."},
    {"counter_jumped", EVIDENCE_SUSPECT, ENERGY, CHECK_SAMPLING,
     "An energy counter rose by more than the device can draw; it was ignored there, and the power "
     "samples were used instead.",
     "Repeat the experiment; if it comes again, do not rely on this sensor."},
    {"counter_stood", EVIDENCE_SUSPECT, ENERGY, CHECK_SAMPLING,
     "An energy counter stood still while power was drawn; it was ignored there, and the power "
     "samples were used instead.",
     "Repeat the experiment; if it comes again, do not rely on this sensor."},
    {"energy_disagrees", EVIDENCE_SUSPECT, ENERGY, CHECK_SAMPLING,
     "The energy counter and the sum of the power samples differ by more than their uncertainty.",
     "Repeat the experiment; if it comes again, rely on neither of the two."},
    {"energy_imprecise", EVIDENCE_UNVERIFIED, ENERGY, CHECK_NONE,
     "The half-width of an energy is more than 20 % of it, or than the settings allow "
     "(\"energy_half_width\").",
     "Do what the text says: '" TARE_NAME " calibrate', or a longer window; what others recorded "
                                          "too coarsely stays so."},
    {"calibration_contradicted", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The readings contradict the GPU's calibration, which was not used.",
     "Delete it and calibrate again."},
    {"energy_file", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The trace of readings could not be written to its file; the energies themselves do not come "
     "from it.",
     "Make room on the disk; only the curve is missing."},

    /* The background job of a parallel experiment. */
    {"background_died", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_BACKGROUND_LOAD,
     "The background training failed again and again, so the load beside the measurement was not "
     "what was planned.",
     "Read background_logs, fix the background training, and repeat the experiment."},
    {"background_no_load", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_BACKGROUND_LOAD,
     "The background training did not load the GPU, so nothing ran beside the measurement.",
     "Read background_logs and look whether it finds its GPU, then repeat the experiment."},
    {"background_stopped_early", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_BACKGROUND_LOAD,
     "The background training ended before the measurement did.",
     "Read background_logs, and repeat the experiment."},
    {"background_stalled", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_BACKGROUND_LOAD,
     "The background training lived but no longer loaded the GPU.",
     "Read background_logs, and repeat the experiment."},

    {"background_late", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_BACKGROUND_LOAD,
     "The GPU was at rest when a parallel experiment began, where others with its background begin "
     "under load: the background was late or missing.",
     "Read background_logs, and repeat the experiment."},
    {"background_without_gpu", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The background training used no GPU; that it ran shows in time or CPU energy.",
     "Nothing needs to be done if a background without a GPU was meant."},

    /* After it. */
    {"leftover_processes", EVIDENCE_RECORDED, NOTHING, CHECK_PROCESSES_AFTER,
     "The command ended and left processes behind, which were ended and proven gone.",
     "Nothing needs to be done for the measurement; a training that waits for its workers leaves "
     "none."},
    {"left_outside", EVIDENCE_RECORDED, NOTHING, CHECK_PROCESSES_AFTER,
     "Shared memory, semaphores or message queues of the same user, made while the job ran, were "
     "left that no process holds.",
     "Remove them if they are yours (rm /dev/shm/NAME, ipcrm): they hold memory until the machine "
     "restarts."},
    {"unkillable", EVIDENCE_SUSPECT, ALL, CHECK_PROCESSES_AFTER,
     "A process of the job could not be ended.",
     "It hangs in the kernel, often in a driver: wait, look at dmesg, and restart the machine if "
     "it stays."},
    {"not_proven", EVIDENCE_SUSPECT, ALL, CHECK_PROCESSES_AFTER,
     "No process of the job was seen any more, but the proof that all are gone was not had.",
     "Look at '" TARE_NAME " doctor' for containment that the kernel backs."},
    {"log_pipe_held", EVIDENCE_SUSPECT, ALL, CHECK_PROCESSES_AFTER,
     "A process that is none of the job's had its log open: it may have worked for it.",
     "Look what the process named is; a training should do its work itself."},
    {"gpu_held", EVIDENCE_SUSPECT, ALL, CHECK_PROCESSES_AFTER,
     "A process of the same user began after the job and had a GPU open: it may have worked for "
     "it.",
     "Look what the process named is, and keep the GPU to the experiment."},
    {"possibly_delegated", EVIDENCE_SUSPECT, ALL, CHECK_PROCESSES_AFTER,
     "GPU memory was still held by a process born outside the job while it ran: work may have been "
     "handed to it.",
     "Look what the process named is (a service, docker, a notebook) and end it if it is yours."},
    {"memory_leaked", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_MEMORY_BACK,
     "GPU memory did not come back when the job was gone, and no process holds it.",
     "Wait, then reset the GPU (nvidia-smi --gpu-reset), reload the driver, or restart the "
     "machine."},
    {"foreign_after", EVIDENCE_RECORDED, NOTHING, CHECK_PROCESSES_AFTER,
     "A process that is none of the experiment's took the GPU after the measurement had ended.",
     "Nothing needs to be done for this experiment; the next one waits until the GPU is free."},

    /* Found in the files of a finished run. */
    {"sampling_short", EVIDENCE_UNVERIFIED, ENERGY, CHECK_SAMPLING,
     "The samples cover less of the time than they claim, so the recorded energy is too low.",
     "Use the energy computed anew from the time-stamps, with its uncertainty."},
    {"energy_differs", EVIDENCE_SUSPECT, ENERGY, CHECK_DATA,
     "The recorded energy differs from that of the recorded samples by more than the uncertainty.",
     "Use the energy computed anew from the time-stamps."},
    {"energy_overwritten", EVIDENCE_SUSPECT, ENERGY, CHECK_DATA,
     "The experiment succeeded after retries, and its energy files hold the last attempt alone.",
     "Compare duration and energy of the last attempt only, or repeat the experiment."},
    {"records_changed", EVIDENCE_SUSPECT, ALL, CHECK_DATA,
     "Another program changed records of the run after they were written.",
     "Find out who did (a training can, without a pid namespace); read the text for what was "
     "changed and made anew; else repeat it."},
    {"log_changed", EVIDENCE_UNVERIFIED, METRIC, CHECK_NONE,
     "The training, or another program, removed, replaced or cut its log: the metrics, which were "
     "read from its output, "
     "cannot be checked.",
     "Let the training write its own log under another name."},
    {"other_code", EVIDENCE_UNVERIFIED, ALL, CHECK_NONE,
     "It ran with other code, packages, interpreter or driver than the newest session of its run "
     "(the text says which).",
     "Repeat it with '" TARE_NAME " run --rerun unverified RUN', or compare it only with rows of "
                                  "the same code."},
    {"values_differ", EVIDENCE_INCONSISTENT, ALL, CHECK_DATA,
     "Two files, or two cells, say different values of one figure.",
     "Look which of them is right, and rely on neither until then."},
    {"duration_differs", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_DATA,
     "The recorded duration and the length of the trace do not agree.",
     "Look which of the two is the training's, or repeat the experiment."},
    {"time_backwards", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_DATA,
     "The time-stamps of the samples go backwards: the clock was set.",
     "Repeat the experiment; let the clock be set before a run, not during it."},
    {"load_step", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_LIKE_POWER,
     "Power or utilisation changed for good in the middle, and in no other experiment of its kind.",
     "Something else began or ended on the GPU: repeat the experiment."},
    {"foreign_span", EVIDENCE_CONTAMINATED, TIME_ENERGY, CHECK_PROCESSES_DURING,
     "Something else used the GPU for a time in which this experiment lies, as the experiments "
     "around it show (inferred).",
     "Look who used the GPU then, and repeat the experiment."},
    {"time_unlike", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_LIKE_TIME,
     "It took much longer or shorter than other experiments of its kind under like conditions.",
     "Look what else ran on the machine, and repeat the experiment."},
    {"energy_unlike", EVIDENCE_SUSPECT, ENERGY, CHECK_LIKE_ENERGY,
     "It used much more or less energy than other experiments of its kind under like conditions.",
     "Look what else ran on the machine, and repeat the experiment."},
    {"machine_changed", EVIDENCE_UNVERIFIED, TIME_ENERGY, CHECK_LIKE_TIME,
     "From some moment on time or power of several models differ: the machine changed, and which "
     "side is right is not known.",
     "Find out what changed (clocks, power limit, another program), and repeat one side."},
    {"training_short", EVIDENCE_UNVERIFIED, TIME_ENERGY, CHECK_LENGTH,
     "The training was too short for the readings that would judge it.",
     "Let the training last longer, or read the sensors more often."},
    {"outlier", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "A figure lies far from those of the other experiments of its kind.",
     "Look for a cause before leaving it out, or repeat the experiment."},
    {"value_missing", EVIDENCE_UNVERIFIED, ALL, CHECK_DATA,
     "A figure that the others of its kind have is missing.",
     "Look at the experiment's log and files."},
    {"value_impossible", EVIDENCE_INCONSISTENT, ALL, CHECK_DATA,
     "A figure is outside of what is possible.",
     "Do not use it; repeat the experiment."},
    {"file_damaged", EVIDENCE_INCONSISTENT, ALL, CHECK_DATA,
     "A file of the experiment is cut off, empty or cannot be read as what it should be.",
     "Look for a copy, or repeat the experiment."},
    {"check_not_made", EVIDENCE_UNVERIFIED, NOTHING, CHECK_NONE,
     "A check that a figure needs was not made: the text names it and says why.",
     "The list of checks of the experiment says what makes it possible."},
    {"metric_implausible", EVIDENCE_SUSPECT, METRIC, CHECK_METRIC_PLAUSIBLE,
     "A metric is not a finite number.",
     "Look at the training's log: it may have diverged."},
    {"records_lost", EVIDENCE_SUSPECT, ALL, CHECK_DATA,
     "Records of the run that told of the experiment were lost or damaged: what speaks against it "
     "may be among them.",
     "Look why the run's files were damaged (disk, network file system), and repeat the "
     "experiment."},
    {"success_without_metrics", EVIDENCE_RECORDED, METRIC, CHECK_METRIC_PLAUSIBLE,
     "The training counts as a success, but none of its results was found.",
     "Look at its log and at the patterns of the registry."},
    {"duplicate_id", EVIDENCE_INCONSISTENT, ALL, CHECK_DATA,
     "Two experiments have the same id: it is not certain which files are whose.",
     "Look at both and rename one."},
    {"copied_run", EVIDENCE_INCONSISTENT, ALL, CHECK_DATA,
     "Another experiment has the same times and the same samples or durations: one is a copy.",
     "Delete the copy; statistics count one of them."},
    {"time_overlap", EVIDENCE_SUSPECT, TIME_ENERGY, CHECK_DATA,
     "By their times two experiments ran on one GPU at the same time for 5 s or more.",
     "Check whether both ran at once, and repeat them one after another."},
    {"copied_trace", EVIDENCE_SUSPECT, ENERGY, CHECK_DATA,
     "The power samples are those of another experiment, with other times.",
     "Look for the right file, or repeat the experiment."},
    {"repeated_rows", EVIDENCE_SUSPECT, ENERGY, CHECK_DATA,
     "Each row of the power samples is there more than once: a sum of the samples is too high.",
     "Use the energy computed from the times of the samples."},
    {"sensor_frozen", EVIDENCE_SUSPECT, ENERGY, CHECK_DATA,
     "Power, utilisation and temperature did not change under load for much longer than in the "
     "folder's other experiments.",
     "Look whether the sensor or its driver hung, and repeat the experiment."},
    {"metrics_copied", EVIDENCE_INCONSISTENT, METRIC, CHECK_DATA,
     "The metrics equal those of a training with another seed in every digit: one may be a copy.",
     "Look for the right log, or repeat the experiment."},
    {"seed_without_effect", EVIDENCE_RECORDED, NOTHING, CHECK_NONE,
     "The metrics equal those of a training with another seed in every digit: the seed changes "
     "nothing.",
     "Check that the script uses its seed; such runs are not independent."},
    {"malformed_id", EVIDENCE_RECORDED, NOTHING, CHECK_DATA,
     "The id does not have the form that ids have.",
     "Nothing needs to be done for the measurement."},
};
/* clang-format on */

#define KINDS (sizeof kinds / sizeof *kinds)

static const char *const weight_names[] = {"recorded", "unverified", "inconsistent", "suspect",
                                           "contaminated"};
static const char *const quantity_names[QUANTITIES] = {"time", "energy", "metric"};
static const char *const outcome_names[CHECK_OUTCOMES] = {"passed", "failed", "not_made",
                                                          "not_needed"};
static const char *const verdict_names[VERDICTS] = {"none", "clean", "unverified", "suspect",
                                                    "contaminated"};

const struct evidence_kind *evidence_kinds(size_t *count)
{
    *count = KINDS;
    return kinds;
}

const struct evidence_kind *evidence_find(const char *name)
{
    for (size_t i = 0; name && i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

enum evidence_weight evidence_weight(const char *name)
{
    const struct evidence_kind *kind = evidence_find(name);
    return kind ? kind->weight : EVIDENCE_SUSPECT;
}

const char *evidence_weight_name(enum evidence_weight weight)
{
    return weight_names[weight];
}

static int find_evidence_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *quantity_name(enum quantity quantity)
{
    return quantity_names[quantity];
}

const struct check_kind *check_kind(enum check check)
{
    return &checks[check];
}

enum check check_parse(const char *name)
{
    for (unsigned i = 0; name && i < CHECKS; i++)
        if (strcmp(checks[i].name, name) == 0)
            return (enum check)i;
    return CHECK_NONE;
}

const char *check_outcome_name(enum check_outcome outcome)
{
    return outcome_names[outcome];
}

bool check_outcome_parse(const char *name, enum check_outcome *out)
{
    int found = find_evidence_name(outcome_names, CHECK_OUTCOMES, name);
    if (found >= 0)
        *out = (enum check_outcome)found;
    return found >= 0;
}

char *checks_compact(const struct check_result *results, size_t count)
{
    struct text text = {0};
    EACH (result, results, count)
        if (result->check < CHECKS &&
            (result->outcome == CHECK_FAILED || result->outcome == CHECK_NOT_MADE))
            text_addf(&text, "%s%s:%s", text.length ? " " : "", checks[result->check].name,
                      outcome_names[result->outcome]);
    return text_take(&text);
}

const char *verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

bool verdict_parse(const char *name, enum verdict *out)
{
    int found = find_evidence_name(verdict_names, VERDICTS, name);
    if (found >= 0)
        *out = (enum verdict)found;
    return found >= 0;
}

enum verdict verdict_with(enum verdict before, const char *kind)
{
    static const enum verdict of_weight[] = {VERDICT_CLEAN, VERDICT_UNVERIFIED, VERDICT_UNVERIFIED,
                                             VERDICT_SUSPECT, VERDICT_CONTAMINATED};
    enum verdict alone = of_weight[evidence_weight(kind)];
    return alone > before ? alone : before;
}

bool evidence_is_imprecise(struct reading energy_j, struct reading half_width_j, double percent)
{
    return percent > 0 && energy_j.valid && half_width_j.valid &&
           half_width_j.value > percent / 100 * fabs(energy_j.value);
}

enum verdict verdict_of_end(enum verdict seen, bool succeeded)
{
    return seen == VERDICT_CLEAN && !succeeded ? VERDICT_NONE : seen;
}

bool verdict_is_safe(enum verdict verdict)
{
    return verdict < VERDICT_SUSPECT;
}

bool verdict_is_clean_success(enum verdict verdict, bool succeeded)
{
    return succeeded && verdict == VERDICT_CLEAN;
}

static void add_verdict_reason(struct text *out, const char *name, const char *text)
{
    text_addf(out, "%s%s", out->length ? "; " : "", name);
    if (!text || !*text)
        return;
    text_add(out, ": ");
    utf8_add_words(text, strlen(text), out);
}

void evidence_add_reason(struct text *out, const char *kind, const char *text)
{
    if (!verdict_is_safe(verdict_with(VERDICT_CLEAN, kind)))
        add_verdict_reason(out, kind, text);
}

void checks_add_reason(struct text *out, const struct check_result *results, size_t count)
{
    EACH (result, results, count)
        if (result->outcome == CHECK_FAILED && result->check < CHECKS)
            add_verdict_reason(out, check_kind(result->check)->name, result->text);
    if (out->length == 0)
        text_add(out, "not recorded");
}

static unsigned touched(const struct evidence_found *found)
{
    const struct evidence_kind *kind = evidence_find(found->kind);
    return found->quantities ? found->quantities : kind ? kind->quantities : ALL;
}

/* What a check that failed makes of a quantity is said by the evidence of it; where there is none,
 * it is suspect. */
static bool is_covered_by_evidence(enum check check, enum quantity quantity,
                                   const struct evidence_found *evidence, size_t count)
{
    EACH (item, evidence, count) {
        const struct evidence_kind *kind = evidence_find(item->kind);
        if (kind && kind->check == check && kind->weight != EVIDENCE_RECORDED &&
            touched(item) & 1u << quantity)
            return true;
    }
    return false;
}

static enum verdict judge_quantity(enum quantity quantity, const struct check_result *results,
                                   size_t result_count, const struct evidence_found *evidence,
                                   size_t evidence_count)
{
    enum verdict verdict = VERDICT_CLEAN;
    bool listed[CHECKS] = {false};
    EACH (result, results, result_count) {
        enum verdict alone = VERDICT_CLEAN;
        if (result->check >= CHECKS || !(checks[result->check].needed_by & 1u << quantity))
            continue;
        listed[result->check] = true;
        if (result->outcome == CHECK_NOT_MADE)
            alone = VERDICT_UNVERIFIED;
        else if (result->outcome == CHECK_FAILED &&
                 !is_covered_by_evidence(result->check, quantity, evidence, evidence_count))
            alone = VERDICT_SUSPECT;
        verdict = alone > verdict ? alone : verdict;
    }
    for (unsigned i = 0; i < CHECKS; i++)
        if (checks[i].required && !listed[i] && checks[i].needed_by & 1u << quantity &&
            verdict < VERDICT_UNVERIFIED)
            verdict = VERDICT_UNVERIFIED;
    EACH (item, evidence, evidence_count)
        if (touched(item) & 1u << quantity)
            verdict = verdict_with(verdict, item->kind);
    return verdict;
}

struct verdicts verdicts_judge(unsigned has, const struct check_result *results,
                               size_t result_count, const struct evidence_found *evidence,
                               size_t evidence_count)
{
    struct verdicts out = {.row = VERDICT_NONE};
    for (unsigned i = 0; i < QUANTITIES; i++) {
        if (!(has & 1u << i))
            continue;
        out.of[i] =
            judge_quantity((enum quantity)i, results, result_count, evidence, evidence_count);
        out.row = out.of[i] > out.row ? out.of[i] : out.row;
    }
    return out;
}
