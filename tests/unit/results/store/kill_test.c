/* Acknowledged is durable: a runner killed at any moment loses nothing that it was told is
 * written. */
#include "fixture.h"

#include "base/rng.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define ROUNDS     20
#define PER_ROUND  200 /* events; an event's id is round * PER_ROUND + its place */
#define IN_FLIGHT  5
#define MOST_ACKED (3 * ROUNDS * PER_ROUND) /* the store adds events of its own */

struct sender {
    int pipe;
    int64_t ids[IN_FLIGHT]; /* a ring: events end in the order they were added */
    int first, count;
};

static void report(void *context, bool ok, const struct err *err)
{
    struct sender *sender = context;
    (void)err;
    if (!ok)
        _exit(3);
    int64_t id = sender->ids[sender->first];
    sender->first = (sender->first + 1) % IN_FLIGHT;
    sender->count--;
    if (write(sender->pipe, &id, sizeof id) != sizeof id)
        _exit(4);
}

struct step {
    enum event_type type;
    const char *data;
};

/* One way round for an experiment that is interrupted again and again. */
static const struct step steps[] = {
    {EVENT_EXPERIMENT_STARTED, "{'id': 'demo_net_001'}"},
    {EVENT_ATTEMPT_PREPARED, "{'folder': 'f'}"},
    {EVENT_JOB_BORN, "{'pid': 4711, 'start_time': 99, 'boot_id': 'b', 'cgroup': null, 'tag': 't'}"},
    {EVENT_ATTEMPT_STARTED, "{}"},
    {EVENT_ATTEMPT_STOPPING, "{'reason': 'interrupted'}"},
    {EVENT_JOB_EXITED, "{'signal': 15}"},
    {EVENT_JOB_PROVEN, "{'leftovers': [], 'survivors': []}"},
    {EVENT_ATTEMPT_ENDED,
     "{'outcome': 'interrupted', 'duration_s': 0.5, 'metrics': {'loss': 0.25}}"},
    {EVENT_EXPERIMENT_ENDED,
     "{'outcome': 'interrupted', 'retries': 0, 'duration_s': 0.5, 'metrics': {'loss': 0.25}}"},
};
#define STEPS (sizeof steps / sizeof steps[0])

/* The step with which a new session takes the experiment up. */
static size_t first_step(const struct store_experiment *one)
{
    switch (one->state) {
    case STATE_RUNNING:
    case STATE_STOPPING:
        return 6;
    case STATE_VERIFYING:
        return one->last.outcome == OUTCOME_NONE ? 7 : 8;
    default:
        return 0;
    }
}

static void wait_for_events(struct store *store)
{
    struct pollfd poll_fd = {.fd = store_fd(store), .events = POLLIN};
    poll(&poll_fd, 1, -1);
    store_dispatch(store);
}

/* After PER_ROUND events it only waits, however late the killer is on a busy machine. */
static void run_until_killed(const struct run *run, int pipe, int64_t round)
{
    struct store *store = fixture_open(run);
    struct sender sender = {.pipe = pipe};
    int64_t session = store_next_session(store);
    size_t step = first_step(store_experiment(store, 1));
    for (int64_t place = 1; place < PER_ROUND; place++) {
        while (sender.count == IN_FLIGHT)
            wait_for_events(store);
        int64_t id = round * PER_ROUND + place;
        sender.ids[(sender.first + sender.count++) % IN_FLIGHT] = id;
        if (place == 1) {
            add_as(store, session, EVENT_SESSION_STARTED, 0, 0, id, NULL, report, &sender);
            continue;
        }
        int64_t attempts = store_experiment(store, 1)->attempts;
        int64_t attempt = steps[step].type == EVENT_ATTEMPT_PREPARED ? attempts + 1 : attempts;
        add_as(store, session, steps[step].type, 1, attempt, id, steps[step].data, report, &sender);
        step = (step + 1) % STEPS;
    }
    for (;;)
        wait_for_events(store);
}

/* Reads ids until the count is reached (or the end, when limit is 0). */
static size_t read_acked(int pipe, int64_t *acked, size_t count, size_t limit)
{
    while (!limit || count < limit) {
        assert_true(count < MOST_ACKED);
        ssize_t got = read(pipe, &acked[count], sizeof acked[count]);
        if (got == 0)
            break;
        assert_int_equal(got, sizeof acked[count]);
        count++;
    }
    return count;
}

static size_t count_in(const int64_t *ids, size_t count, int64_t id)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += ids[i] == id;
    return found;
}

static size_t ids_in_db(const struct run *run, int64_t *out)
{
    char path[512];
    sqlite3 *db = NULL;
    sqlite3_stmt *query = NULL;
    size_t count = 0;
    run_path(run, "run.db", path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(
            db, "SELECT iif(type = 'files_written', 0, monotonic_ns) FROM events ORDER BY seq", -1,
            &query, NULL),
        SQLITE_OK);
    while (sqlite3_step(query) == SQLITE_ROW && count < MOST_ACKED)
        out[count++] = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(db);
    return count;
}

static size_t ids_in_lines(const struct run *run, int64_t *out)
{
    char *text = run_read(run, "events.jsonl");
    size_t count = 0;
    for (char *at = text; *at && count < MOST_ACKED;) {
        char *end = strchr(at, '\n');
        assert_non_null(end);
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        assert_non_null(line);
        assert_int_equal(json_integer_value(json_object_get(line, "seq")), count + 1);
        const char *type = json_string_value(json_object_get(line, "type"));
        bool own = strcmp(type, "files_written") == 0;
        out[count++] = own ? 0 : json_integer_value(json_object_get(line, "monotonic_ns"));
        json_decref(line);
        at = end + 1;
    }
    free(text);
    return count;
}

static void kill_at_some_moment(const struct run *run, int64_t round, struct rng *rng,
                                int64_t *acked, size_t *count)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        run_until_killed(run, ends[1], round);
    }
    close(ends[1]);
    *count = read_acked(ends[0], acked, *count, *count + rng_below(rng, 30));
    usleep((useconds_t)rng_below(rng, 4000));
    kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    *count = read_acked(ends[0], acked, *count, 0);
    close(ends[0]);
}

static void what_was_acknowledged_is_there_exactly_once_after_sigkill(void **state)
{
    (void)state;
    static int64_t acked[MOST_ACKED], stored[MOST_ACKED], lines[MOST_ACKED];
    size_t acked_count = 0;
    struct run run;
    struct rng rng;
    rng_seed(&rng, 20251115);
    run_make(&run);
    fixture_close(fixture_create(&run));
    for (int64_t round = 1; round <= ROUNDS; round++) {
        kill_at_some_moment(&run, round, &rng, acked, &acked_count);
        struct store *store = fixture_open(&run);
        enum experiment_state known = store_experiment(store, 1)->state;
        fixture_close(store);
        size_t stored_count = ids_in_db(&run, stored);
        size_t line_count = ids_in_lines(&run, lines);
        for (size_t i = 0; i < acked_count; i++) {
            assert_int_equal(count_in(stored, stored_count, acked[i]), 1);
            assert_int_equal(count_in(lines, line_count, acked[i]), 1);
        }
        assert_int_equal(line_count, stored_count);
        assert_memory_equal(lines, stored, stored_count * sizeof stored[0]);
        assert_answer(&run, "SELECT state FROM experiments WHERE number=1", state_name(known));
        assert_answer(
            &run,
            "SELECT (SELECT attempts FROM experiments WHERE number=1) = count(*) FROM attempts",
            "1");
        assert_answer(&run, "SELECT count(*) FROM pragma_foreign_key_check", "0");
    }
    assert_true(acked_count > 0);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_is_there_exactly_once_after_sigkill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
