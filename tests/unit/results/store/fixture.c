#include "fixture.h"

#include "base/fs.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

void run_make(struct run *run)
{
    setenv("TZ", "UTC0", 1);
    tzset();
    const char *base = getenv("TMPDIR");
    run->path = mem_printf("%s/tare-test-store-XXXXXX", base && *base ? base : P_tmpdir);
    assert_non_null(mkdtemp(run->path));
    run->dir = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(run->dir >= 0);
}

void run_remove(struct run *run)
{
    close(run->dir);
    folder_remove(run->path);
    free(run->path);
}

void run_path(const struct run *run, const char *name, char out[512])
{
    snprintf(out, 512, "%s/%s", run->path, name);
}

bool run_has(const struct run *run, const char *name)
{
    return faccessat(run->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

char *run_read(const struct run *run, const char *name)
{
    char path[512];
    struct text text = {0};
    struct err err = {0};
    run_path(run, name, path);
    if (!fs_read(path, 1 << 26, &text, &err))
        fail_msg("%s", err.text);
    return text_take(&text);
}

static void add_param(struct plan_job *job, const char *name, struct value value, bool mutated)
{
    job->params = mem_resize(job->params, job->param_count + 1, sizeof *job->params);
    job->params[job->param_count++] =
        (struct plan_param){.name = mem_strdup(name), .value = value, .mutated = mutated};
}

static void add_metric(struct plan_job *job, const char *name)
{
    job->metrics = mem_resize(job->metrics, job->metric_count + 1, sizeof *job->metrics);
    job->metrics[job->metric_count++] =
        (struct registry_metric){mem_strdup(name), mem_strdup("x ([0-9.]+)"), GOAL_UNKNOWN};
}

static void fill_demo(struct plan_job *job, double learning_rate)
{
    job->repo = mem_strdup("demo");
    job->model = mem_strdup("net");
    job->mode = MODE_MUTATION;
    job->cwd = mem_strdup("/srv/demo");
    strv_add(&job->argv, "/usr/bin/train");
    strv_add(&job->argv, "--lr");
    strv_add(&job->argv, "1e-7");
    add_param(job, "learning_rate", value_float(learning_rate), true);
    add_param(job, "epochs", value_int(3), false);
    add_metric(job, "loss");
    add_metric(job, "accuracy");
}

static void fill_other(struct plan_job *job)
{
    job->repo = mem_strdup("other");
    job->model = mem_strdup("default");
    job->mode = MODE_DEFAULT;
    job->cwd = mem_strdup("/srv/other");
    strv_add(&job->argv, "/bin/true");
    add_param(job, "seed", value_int(1334), false);
    add_param(job, "name", value_text("a,b"), false);
    add_metric(job, "rank1");
}

void plan_fill(struct plan *plan)
{
    *plan = (struct plan){.name = mem_strdup("night"), .seed = 42, .count = 3};
    plan->experiments = mem_array(3, sizeof *plan->experiments);
    plan->experiments[0].id = mem_strdup("demo_net_001");
    fill_demo(&plan->experiments[0].foreground, 1e-7);
    plan->experiments[1].id = mem_strdup("other_default_002");
    fill_other(&plan->experiments[1].foreground);
    plan->experiments[2].id = mem_strdup("demo_net_003_parallel");
    plan->experiments[2].parallel = true;
    fill_demo(&plan->experiments[2].foreground, 0.5);
    fill_other(plan->experiments[2].background = mem_alloc(sizeof(struct plan_job)));
    for (size_t i = 0; i < 3; i++) {
        plan->experiments[i].number = i + 1;
        plan->experiments[i].entry = i;
        plan->experiments[i].configuration = i;
        plan->experiments[i].max_retries = 2;
    }
}

struct store *fixture_create(const struct run *run)
{
    struct plan plan;
    struct err err = {0};
    plan_fill(&plan);
    struct store_head head = {&plan, "{\"a\": 1}\n", 9, "{}", 2, false};
    struct store *store = store_create(run->dir, run->path, &head, &err);
    plan_fini(&plan);
    if (!store)
        fail_msg("%s", err.text);
    return store;
}

struct store *fixture_open(const struct run *run)
{
    struct err err = {0};
    struct store *store = store_open(run->dir, run->path, &err);
    if (!store)
        fail_msg("%s", err.text);
    return store;
}

void fixture_close(struct store *store)
{
    struct err err = {0};
    if (!store_close(store, &err))
        fail_msg("%s", err.text);
}

void outcome_done(void *context, bool ok, const struct err *err)
{
    struct outcome_seen *seen = context;
    seen->calls++;
    seen->ok = ok;
    if (err)
        seen->err = *err;
}

/* The caller frees. */
static char *double_quoted(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

void assert_json(const json_t *actual, const char *expected)
{
    AUTO_FREE char *text = double_quoted(expected);
    json_t *wanted = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(wanted);
    if (!json_equal(actual, wanted)) {
        char *is = json_dumps(actual, JSON_ENCODE_ANY);
        fail_msg("%s instead of %s", is, text);
    }
    json_decref(wanted);
}

void add_as(struct store *store, int64_t session, enum event_type type, int64_t experiment,
            int64_t attempt, int64_t monotonic_ns, const char *data, store_done_fn *done,
            void *context)
{
    AUTO_FREE char *text = double_quoted(data ? data : "{}");
    json_error_t error;
    struct event event = {.type = type,
                          .monotonic_ns = monotonic_ns,
                          .realtime_ns = START_NS,
                          .session = session,
                          .experiment = experiment,
                          .attempt = attempt,
                          .data = json_loads(text, 0, &error)};
    if (!event.data)
        fail_msg("%s: %s", data, error.text);
    store_add(store, &event, done, context);
    json_decref(event.data);
}

void add(struct store *store, enum event_type type, int64_t experiment, int64_t attempt,
         const char *data)
{
    add_as(store, 1, type, experiment, attempt, 1000, data, NULL, NULL);
}

void play_attempt(struct store *store, int64_t experiment, int64_t attempt, bool succeeds)
{
    add(store, EVENT_ATTEMPT_PREPARED, experiment, attempt, "{'folder': 'f'}");
    add(store, EVENT_JOB_BORN, experiment, attempt,
        "{'role': 'foreground', 'pid': 4711, 'start_time': 99, 'boot_id': 'b-1', 'cgroup': "
        "'/cg/x', 'tag': 't-1',"
        " 'layers': ['pidns', 'sweep']}");
    add(store, EVENT_ATTEMPT_STARTED, experiment, attempt, NULL);
    add(store, EVENT_ATTEMPT_STOPPING, experiment, attempt, "{'reason': 'exited'}");
    add(store, EVENT_JOB_EXITED, experiment, attempt,
        succeeds ? "{'exit_code': 0, 'cpu_s': 0.25, 'peak_memory_bytes': 4096, 'processes': 2}"
                 : "{'exit_code': 1, 'cpu_s': 0.25}");
    add(store, EVENT_JOB_PROVEN, experiment, attempt,
        "{'leftovers': [{'pid': 5000, 'command': 'worker'}], 'survivors': [], 'seconds': 0.01}");
    add(store, EVENT_ATTEMPT_ENDED, experiment, attempt,
        succeeds
            ? "{'outcome': 'succeeded', 'duration_s': 1.0, 'exit_code': 0, 'reason': 'exited',"
              " 'metrics': {'accuracy': 97.5, 'loss': null}, 'log': {'bytes': 120, 'lines': 4}}"
            : "{'outcome': 'failed', 'duration_s': 2.5, 'exit_code': 1, 'reason': 'exited', "
              "'error': 'exit code 1',"
              " 'metrics': {}, 'log': {'bytes': 10, 'lines': 1}}");
}

char *ask(const struct run *run, const char *sql)
{
    char path[512];
    sqlite3 *db = NULL;
    sqlite3_stmt *query = NULL;
    run_path(run, "run.db", path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    char *answer = NULL;
    if (sqlite3_step(query) == SQLITE_ROW)
        answer = mem_strdup((const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    sqlite3_close(db);
    return answer;
}

void assert_answer(const struct run *run, const char *sql, const char *expected)
{
    char *answer = ask(run, sql);
    if (!answer || strcmp(answer, expected) != 0)
        fail_msg("%s: %s instead of %s", sql, answer ? answer : "NULL", expected);
    free(answer);
}
