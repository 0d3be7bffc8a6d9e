/* What is found beside a job that is over: processes that nobody can end, a log's pipe in foreign
 * hands, a GPU that somebody has open. */
#include "fixture.h"
#include "machine/contain/job.h"

#include "base/mem.h"
#include "run/aftermath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

/* The linker puts this in the place of job_prove_step: a process that sleeps uninterruptibly cannot
 * be made at will. */
bool __real_job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count);
bool __wrap_job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count);
static size_t stuck_processes;

bool __wrap_job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count)
{
    bool gone = __real_job_prove_step(job, members, max, count);
    if (stuck_processes == 0)
        return gone;
    for (size_t i = 0; i < stuck_processes && i < max; i++) {
        members[i] = (struct job_member){.pid = 4711 + (int)i, .state = 'D', .command = "python"};
        strcpy(members[i].wchan, i ? "" : "nvidia_ioctl");
    }
    *count = stuck_processes;
    return false;
}

static const json_t *evidence(const struct world *world, const char *kind, size_t *count)
{
    const json_t *found = NULL;
    *count = 0;
    for (size_t i = 0; i < json_array_size(world->events); i++) {
        const json_t *event = json_array_get(world->events, i),
                     *data = json_object_get(event, "data");
        if (strcmp(json_string_value(json_object_get(event, "type")), "evidence") == 0 &&
            strcmp(json_string_value(json_object_get(data, "kind")), kind) == 0) {
            found = data;
            (*count)++;
        }
    }
    return found;
}

static const char *evidence_text(const struct world *world, const char *kind)
{
    size_t count;
    const json_t *data = evidence(world, kind, &count);
    assert_int_equal(count, 1);
    return json_string_value(json_object_get(data, "text"));
}

static void what_cannot_be_killed_breaks_the_run_and_a_resume_goes_on_later(void **state)
{
    struct world *world = *state;
    size_t count;
    world_add(world, "echo $TARE_EXPERIMENT >>$1/done");
    world_add(world, "echo $TARE_EXPERIMENT >>$1/done");
    stuck_processes = 40;
    world_run(world);
    stuck_processes = 0;
    assert_false(world->ok);
    assert_int_equal(world->summary.outcome, RUN_BROKEN);
    assert_int_equal(world->summary.not_run, 1);
    assert_non_null(
        strstr(world->err.text,
               "repo_model_001: still alive after SIGKILL: 4711 python (state D, in nvidia_ioctl), "
               "4712 python (state D), "));
    const char *text = evidence_text(world, "unkillable");
    assert_memory_equal(text,
                        "still alive 15 s after SIGKILL: 4711 python (state D, in nvidia_ioctl), "
                        "4712 python (state D),",
                        strlen("still alive 15 s after SIGKILL: 4711 python (state D, in "
                               "nvidia_ioctl), 4712 python (state D),"));
    /* 32 of the 40 are named, as docs/reference/files.md says of lists of processes. */
    assert_non_null(strstr(text, "4742 python (state D), and 8 more"));
    assert_null(strstr(text, "4743"));
    const json_t *survivors = json_object_get(world_last(world, "job_proven", 1), "survivors");
    assert_int_equal(json_array_size(survivors), 32);
    const json_t *first = json_array_get(survivors, 0);
    assert_int_equal(json_integer_value(json_object_get(first, "pid")), 4711);
    assert_string_equal(json_string_value(json_object_get(first, "state")), "D");
    assert_string_equal(json_string_value(json_object_get(first, "wchan")), "nvidia_ioctl");
    assert_string_equal(world_text(world, "session_ended", 0, "outcome"), "failed");

    world_run(world);
    assert_true(world->ok);
    assert_int_equal(world->summary.outcome, RUN_FINISHED);
    assert_int_equal(world->summary.succeeded, 2);
    AUTO_FREE char *done = world_read_root(world, "done");
    assert_string_equal(done, "repo_model_001\nrepo_model_002\n");
    evidence(world, "unkillable", &count);
    assert_int_equal(count, 1);
}

static void a_loop_that_cannot_be_killed_breaks_the_run_before_the_foreground_begins(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = world_add(world, "echo $TARE_ATTEMPT >>$1/done");
    world_add_background(world, experiment, "[ $TARE_ATTEMPT = 1 ] || sleep 1000");
    world->plan.parallel.wait_s = 600;
    stuck_processes = 1;
    world_run(world);
    stuck_processes = 0;
    assert_int_equal(world->summary.outcome, RUN_BROKEN);
    assert_non_null(strstr(
        world->err.text,
        "repo_model_001: still alive after SIGKILL: 4711 python (state D, in nvidia_ioctl)"));
    assert_string_equal(evidence_text(world, "unkillable"),
                        "still alive 15 s after SIGKILL: 4711 python (state D, in nvidia_ioctl)");
    assert_string_equal(world_text(world, "job_proven", 1, "role"), "background");
    assert_int_equal(
        json_array_size(json_object_get(world_last(world, "job_proven", 1), "survivors")), 1);

    strv_env_set(&world->environment, "TARE_TIME_SCALE", "0.001");
    world_run(world);
    assert_true(world->ok);
    assert_int_equal(world->summary.succeeded, 1);
    AUTO_FREE char *done = world_read_root(world, "done");
    assert_string_equal(done, "2\n");
}

/* A foreign process opens the pipe by the job's descriptor in /proc when the job says that it
 * runs. */
struct thief {
    const char *root;
    pid_t job_init, pid;
};

static pid_t command_of(pid_t init)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)init, (int)init);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    return length > 0 ? (pid_t)atoi(text) : 0;
}

static void on_event(void *context, const struct event *event)
{
    struct thief *thief = context;
    if (event->type == EVENT_JOB_BORN)
        thief->job_init = (pid_t)json_integer_value(json_object_get(event->data, "pid"));
    if (event->type != EVENT_METRIC || thief->pid)
        return;
    /* Stopped, so that nothing of it changes any more. */
    AUTO_FREE char *line = mem_printf("exec 7>/proc/%d/fd/1; : >%s/taken; kill -STOP $$",
                                      (int)command_of(thief->job_init), thief->root);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, line, NULL};
    char *env[] = {(char[]){"PATH=/usr/local/bin:/usr/bin:/bin"}, NULL};
    assert_int_equal(posix_spawn(&thief->pid, "/bin/sh", NULL, NULL, argv, env), 0);
}

static void who_keeps_the_logs_pipe_is_named_and_left_alone(void **state)
{
    struct world *world = *state;
    struct thief thief = {.root = world->root};
    if (access("/proc/thread-self/children", F_OK) != 0) {
        print_message("# not possible here: the kernel does not list a process's children\n");
        return;
    }
    /* Until the pipe has a second writer: the job then ends by itself. */
    struct plan_experiment *experiment =
        world_add(world, "echo now 1; until [ -e $1/taken ]; do sleep 0.05; done; echo last");
    world_add_metric(experiment, "now", "^now ([0-9])");
    experiment->timeout_s = 60;
    world->listener = (struct run_listener){.event = on_event, .context = &thief};
    world_run(world);
    int alive = kill(thief.pid, 0);
    kill(thief.pid, SIGKILL);
    waitpid(thief.pid, NULL, 0);
    assert_true(world->ok);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(alive, 0);
    AUTO_FREE char *expected =
        mem_printf("nothing of the job is left, but its log's pipe is still open for writing in %d "
                   "sh; what comes that way is not in training.log",
                   (int)thief.pid);
    assert_string_equal(evidence_text(world, "log_pipe_held"), expected);
    AUTO_FREE char *log = world_read(world, "repo_model_001/training.log");
    assert_string_equal(log, "now 1\nlast\n");
}

static void a_job_that_leaves_nothing_gives_no_evidence(void **state)
{
    struct world *world = *state;
    world_add(world, "echo words");
    world_run(world);
    assert_int_equal(world_count(world, "evidence", 0), 0);
}

/* A /proc and a /dev of the test's own. */
struct machine {
    char root[32];
    char proc[64], dev[64];
    struct census_roots roots;
};

static void write_file(const char *path, const char *bytes, size_t count)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
}

static void machine_make(struct machine *machine)
{
    *machine = (struct machine){.root = "/tmp/aftermath.XXXXXX"};
    assert_non_null(mkdtemp(machine->root));
    snprintf(machine->proc, sizeof machine->proc, "%s/proc", machine->root);
    snprintf(machine->dev, sizeof machine->dev, "%s/dev", machine->root);
    assert_int_equal(mkdir(machine->proc, 0755), 0);
    assert_int_equal(mkdir(machine->dev, 0755), 0);
    AUTO_FREE char *control = mem_printf("%s/nvidiactl", machine->dev);
    write_file(control, "", 0);
    machine->roots = (struct census_roots){machine->proc, machine->dev};
}

static void machine_remove(const struct machine *machine)
{
    AUTO_FREE char *line = mem_printf("rm -rf '%s'", machine->root);
    assert_int_equal(system(line), 0);
}

/* A process with this device open; NULL: none. tag: NULL for an environment without one. */
static void machine_add(const struct machine *machine, int pid, int parent, int start_time,
                        unsigned uid, const char *tag, const char *device)
{
    AUTO_FREE char *folder = mem_printf("%s/%d", machine->proc, pid);
    AUTO_FREE char *fds = mem_printf("%s/fd", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(mkdir(fds, 0755), 0);
    const char *const names[] = {"stat", "status", "environ", "cmdline"};
    char *const texts[] = {
        /* Fields 1 to 22 of proc(5): the twentieth behind the name's ')' is the start time. */
        mem_printf("%d (train) S %d %d %d 0 -1 0 0 0 0 0 5 6 0 0 20 0 1 0 %d 0 0\n", pid, parent,
                   pid, pid, start_time),
        mem_printf("Name:\ttrain\nUid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid),
        mem_printf("HOME=/%s%s", tag ? "!TARE_JOB=" : "", tag ? tag : ""),
        mem_strdup("train"),
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", folder, names[i]);
        size_t length = strlen(texts[i]);
        for (char *at = texts[i]; i == 2 && (at = strchr(at, '!'));)
            *at = '\0';
        write_file(path, texts[i], length);
        free(texts[i]);
    }
    AUTO_FREE char *link = mem_printf("%s/3", fds);
    AUTO_FREE char *target = mem_printf("%s/%s", machine->dev, device ? device : "null");
    assert_int_equal(symlink(target, link), 0);
}

static void a_gpu_held_by_what_came_after_the_job_is_told(void **state)
{
    (void)state;
    struct machine machine;
    char own[] = "0123456789abcdef0123456789abcdef", other[] = "ffffffffffffffffffffffffffffffff";
    struct job_identity job = {.pid = 500, .start_time = 1000, .tag = own};
    machine_make(&machine);
    machine_add(&machine, 501, 1, 999, 77, NULL, "nvidia0");              /* older than the job */
    machine_add(&machine, 502, 1, 1500, 78, NULL, "nvidia0");             /* another user's */
    machine_add(&machine, 503, 1, 1500, 77, NULL, NULL);                  /* has no GPU */
    machine_add(&machine, 504, 1, 1500, 77, other, "nvidia1");            /* another job's */
    machine_add(&machine, 506, (int)getpid(), 1500, 77, NULL, "nvidia0"); /* the runner's own */
    char *nobody = aftermath_gpu_holders(&machine.roots, &job, 77, NULL, NULL);
    assert_null(nobody);
    machine_add(&machine, 507, 1, 1000, 77, NULL, "nvidia0");
    machine_add(&machine, 508, 1, 1600, 77, own, "nvidiactl");
    AUTO_FREE char *found = aftermath_gpu_holders(&machine.roots, &job, 77, NULL, NULL);
    AUTO_FREE char *expected =
        mem_printf("possibly of this job, and left alone: 507 train (%s/nvidia0); 508 train "
                   "(%s/nvidiactl)",
                   machine.dev, machine.dev);
    assert_string_equal(found, expected);
    machine_remove(&machine);
}

static void a_run_tells_who_holds_the_gpu_after_each_job(void **state)
{
    struct world *world = *state;
    struct machine machine;
    machine_make(&machine);
    /* Started in the far future, so after every job. */
    machine_add(&machine, 600, 1, 2000000000, (unsigned)geteuid(), NULL, "nvidia0");
    world->roots = &machine.roots;
    world_add(world, "echo words");
    world_run(world);
    AUTO_FREE char *expected =
        mem_printf("possibly of this job, and left alone: 600 train (%s/nvidia0)", machine.dev);
    assert_string_equal(evidence_text(world, "gpu_held"), expected);
    machine_remove(&machine);
}

static void without_a_gpu_nobody_is_looked_at(void **state)
{
    (void)state;
    struct job_identity job = {.start_time = 1};
    struct census_roots roots = {"/nonexistent", "/nonexistent"};
    char *found = aftermath_gpu_holders(&roots, &job, 0, NULL, NULL);
    assert_null(found);
}

static void count_hints(void *context, const struct event *event)
{
    const char *text = json_string_value(json_object_get(event->data, "text"));
    if (event->type == EVENT_NOTE && text && strstr(text, "do not work in a user namespace"))
        ++*(int *)context;
}

/* sudo's own words; the hint is right only for a job in a user namespace. */
static void a_refused_setuid_helper_is_explained_once(void **state)
{
    struct world *world = *state;
    int notes = 0;
    world_add(
        world,
        "echo 'sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set'; exit 1");
    world_add(
        world,
        "echo 'sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set'; exit 1");
    world->listener = (struct run_listener){.event = count_hints, .context = &notes};
    world_run(world);
    assert_int_equal(world->summary.failed, 2);
    const json_t *layers = json_object_get(world_last(world, "job_born", 1), "layers");
    assert_int_equal(notes, json_is_true(json_object_get(layers, "userns")) ? 1 : 0);
}

static void the_setuid_refusal_is_found_at_the_end_of_a_log(void **state)
{
    (void)state;
    char root[] = "/tmp/aftermath.XXXXXX";
    assert_non_null(mkdtemp(root));
    AUTO_CLOSE int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FREE char *log = mem_printf("%s/log", root);
    AUTO_FREE char *long_text = mem_alloc(100000);
    assert_false(aftermath_has_setuid_refusal(folder, "log"));
    memset(long_text, 'x', 99000);
    snprintf(long_text + 99000, 900,
             "%csudo: effective uid is not 0, is sudo installed setuid root?\n", '\n');
    long_text[98990] = '\0'; /* a byte that ends no log */
    write_file(log, long_text, 99000 + strlen(long_text + 99000));
    assert_true(aftermath_has_setuid_refusal(folder, "log"));
    write_file(log, "effective uid is 1\n", 19);
    assert_false(aftermath_has_setuid_refusal(folder, "log"));
    unlink(log);
    assert_int_equal(symlink("/etc/passwd", log), 0);
    assert_false(aftermath_has_setuid_refusal(folder, "log"));
    unlink(log);
    rmdir(root);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
        RUN_TEST(what_cannot_be_killed_breaks_the_run_and_a_resume_goes_on_later),
        RUN_TEST(a_loop_that_cannot_be_killed_breaks_the_run_before_the_foreground_begins),
        RUN_TEST(who_keeps_the_logs_pipe_is_named_and_left_alone),
        RUN_TEST(a_job_that_leaves_nothing_gives_no_evidence),
        cmocka_unit_test(a_gpu_held_by_what_came_after_the_job_is_told),
        RUN_TEST(a_run_tells_who_holds_the_gpu_after_each_job),
        cmocka_unit_test(without_a_gpu_nobody_is_looked_at),
        RUN_TEST(a_refused_setuid_helper_is_explained_once),
        cmocka_unit_test(the_setuid_refusal_is_found_at_the_end_of_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
