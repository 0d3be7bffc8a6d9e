/* What the model says against what PyTorch did on an H200: recorded traces and outcomes, in
 * ../shared/data/memory. */
#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"
#include "gpu_memory/allocator/check.h"

#include "tests/unit/folder.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static const char *const archives[] = {"allocator-traces.tar.xz", "allocator-traces-2.tar.xz"};

struct data {
    char folder[64];
    /* names without their endings, sorted; outcomes: all that have a .json */
    struct strv pickles, outcomes;
    const char *missing; /* why there is nothing */
};

static bool unpack(const char *archive, const char *folder)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("tar", "tar", "-xJf", archive, "-C", folder, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_names(const char *folder, const char *ending, struct strv *out)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length > tail && strcmp(entry->d_name + length - tail, ending) == 0)
            strv_add_owned(out, mem_strndup(entry->d_name, length - tail));
    }
    if (dir)
        closedir(dir);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_name);
}

static int open_data(void **state)
{
    struct data *data = mem_alloc(sizeof *data);
    const char *shared = getenv("TARE_SHARED");
    strcpy(data->folder, "/tmp/records.XXXXXX");
    *state = data;
    if (!mkdtemp(data->folder))
        return -1;
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        AUTO_FREE char *path = mem_printf("%s/data/memory/%s",
                                          shared ? shared : PROJECT_ROOT "/../shared", archives[i]);
        if (access(path, R_OK) != 0)
            data->missing = "../shared/data/memory is not there";
        else if (!unpack(path, data->folder))
            data->missing = "tar and xz cannot unpack the recorded traces here";
    }
    list_names(data->folder, ".pickle", &data->pickles);
    list_names(data->folder, ".json", &data->outcomes);
    return 0;
}

static int close_data(void **state)
{
    struct data *data = *state;
    folder_remove(data->folder);
    strv_fini(&data->pickles);
    strv_fini(&data->outcomes);
    free(data);
    return 0;
}

static void skip_without(const struct data *data)
{
    if (data->missing) {
        print_message("# skip: %s\n", data->missing);
        skip();
    }
}

/* What really happened. */
struct outcome {
    json_t *json;
    struct alloc_settings settings;
    uint64_t cap_bytes, total_bytes, peak_reserved;
    bool failed;
};

static uint64_t figure(const json_t *json, const char *key)
{
    json_int_t value = 0;
    if (!json_get_int(json, key, &value))
        fail_msg("the outcome has no %s", key);
    return (uint64_t)value;
}

static struct outcome read_outcome(const struct data *data, const char *name)
{
    struct outcome out = {.cap_bytes = MODEL_NO_CAP};
    AUTO_FREE char *path = mem_printf("%s/%s.json", data->folder, name);
    out.json = json_load_file(path, 0, NULL);
    assert_non_null(out.json);
    assert_true(conf_parse(json_get_text(out.json, "alloc_conf"), &out.settings, NULL));
    double gib = 0;
    json_get_number(out.json, "cap_gib", &gib);
    out.total_bytes = figure(out.json, "total_memory");
    /* set_per_process_memory_fraction(cap / total) and back: int((cap/total)*total) */
    if (gib > 0)
        out.cap_bytes = (uint64_t)(gib * 1024 * 1024 * 1024 / (double)out.total_bytes *
                                   (double)out.total_bytes);
    out.peak_reserved = figure(out.json, "peak_reserved");
    out.failed = json_get_text(out.json, "oom") != NULL;
    return out;
}

static void read_record(const struct data *data, const char *name, struct snapshot *snapshot,
                        struct program *program)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_printf("%s/%s.pickle", data->folder, name);
    if (!snapshot_load(path, snapshot, &err))
        fail_msg("%s", err.text);
    assert_int_equal(snapshot->device_count, 1);
    assert_true(program_build(snapshot, 0, program, &err));
}

static void assert_figures(const struct outcome *outcome, const struct model_stats *stats)
{
    assert_int_equal(stats->allocated.peak, figure(outcome->json, "peak_allocated"));
    assert_int_equal(stats->reserved.peak, figure(outcome->json, "peak_reserved"));
    assert_int_equal(stats->active.peak, figure(outcome->json, "peak_active"));
    assert_int_equal(stats->allocated.now, figure(outcome->json, "end_allocated"));
    assert_int_equal(stats->reserved.now, figure(outcome->json, "end_reserved"));
    assert_int_equal(stats->inactive_split.now, figure(outcome->json, "end_inactive_split"));
    assert_int_equal(stats->retries, figure(outcome->json, "num_alloc_retries"));
    assert_int_equal(stats->ooms, figure(outcome->json, "num_ooms"));
    assert_int_equal(stats->segments.now, figure(outcome->json, "segments"));
}

static void each_record_is_repeated_event_by_event_with_its_layout_and_figures(void **state)
{
    const struct data *data = *state;
    skip_without(data);
    assert_int_equal(data->pickles.count, 46);
    for (size_t i = 0; i < data->pickles.count; i++) {
        struct snapshot snapshot;
        struct program program;
        struct check check;
        struct outcome outcome = read_outcome(data, data->pickles.items[i]);
        read_record(data, data->pickles.items[i], &snapshot, &program);
        check_run(&snapshot, 0, &program, outcome.cap_bytes, outcome.total_bytes, &check);
        if (!check.exact)
            fail_msg("%s: %s", data->pickles.items[i], check.difference);
        assert_true(check.complete);
        assert_int_equal(check.events, figure(outcome.json, "events"));
        assert_true(conf_equal(&snapshot.settings, &outcome.settings));
        assert_figures(&outcome, &check.stats);
        /* The one workload that empties its cache by itself does so once. */
        assert_int_equal(check.empty_cache_count,
                         strstr(data->pickles.items[i], "ampckpt") ? 1 : 0);
        check_fini(&check);
        program_fini(&program);
        snapshot_fini(&snapshot);
        json_decref(outcome.json);
    }
}

/* A snapshot does not say which cap it was recorded under: but for garbage collection, which
 * depends on it, the record itself tells where memory was refused. */
static void the_record_is_repeated_without_knowing_its_cap(void **state)
{
    const struct data *data = *state;
    skip_without(data);
    for (size_t i = 0; i < data->pickles.count; i += SANITIZED ? 8 : 1) {
        struct snapshot snapshot;
        struct program program;
        struct check check;
        struct outcome outcome = read_outcome(data, data->pickles.items[i]);
        read_record(data, data->pickles.items[i], &snapshot, &program);
        check_run(&snapshot, 0, &program, MODEL_NO_CAP, 0, &check);
        if (outcome.cap_bytes == MODEL_NO_CAP || outcome.settings.gc_threshold <= 0) {
            assert_true(check.exact);
            assert_int_equal(check.stats.retries, figure(outcome.json, "num_alloc_retries"));
        }
        check_fini(&check);
        program_fini(&program);
        snapshot_fini(&snapshot);
        json_decref(outcome.json);
    }
}

/* The ring of a record may begin anywhere: what lay there then is inferred from what is freed later
 * and what is there at the end. Some of it leaves no trace (how old free blocks are, a rest that
 * was too small to be split off), so that not every one can be exact. */
static void records_cut_in_the_middle_are_repeated_nearly_always(void **state)
{
    const struct data *data = *state;
    size_t exact = 0, cut = 0;
    skip_without(data);
    for (size_t i = 0; i < data->pickles.count; i++) {
        struct snapshot snapshot;
        struct program program;
        struct check check;
        struct outcome outcome = read_outcome(data, data->pickles.items[i]);
        read_record(data, data->pickles.items[i], &snapshot, &program);
        program_fini(&program);
        struct snapshot_device *trace = &snapshot.devices[0];
        size_t gone = trace->count / 2;
        trace->count -= gone;
        memmove(trace->events, trace->events + gone, trace->count * sizeof *trace->events);
        assert_true(program_build(&snapshot, 0, &program, NULL));
        check_run(&snapshot, 0, &program, outcome.cap_bytes, outcome.total_bytes, &check);
        assert_false(check.complete);
        exact += check.exact;
        cut++;
        if (!check.exact)
            print_message("# %s, its second half: %s\n", data->pickles.items[i], check.difference);
        check_fini(&check);
        program_fini(&program);
        snapshot_fini(&snapshot);
        json_decref(outcome.json);
    }
    print_message("# second halves repeated exactly: %zu of %zu\n", exact, cut);
    assert_true(exact * 10 >= cut * 9);
}

struct tally {
    size_t cases, exact, recorded, recorded_exact;
    double worst;
    size_t edges, right, uncertain, wrong;
};

/* "cnn" of "dev-cnn-default-0" */
static char *workload_of(const char *name)
{
    const char *from = strchr(name, '-') + 1;
    return mem_strndup(from, (size_t)(strchr(from, '-') - from));
}

static void judge(const struct data *data, const char *name, const struct outcome *outcome,
                  const struct replay *replay, struct tally *tally)
{
    double off = ((double)replay->stats.reserved.peak / (double)outcome->peak_reserved - 1) * 100;
    bool exact = replay->stats.reserved.peak == outcome->peak_reserved,
         recorded = strv_has(&data->pickles, name);
    bool foretold = replay->outcome == REPLAY_FAILS;
    const char *verdict = "";
    tally->cases++;
    tally->exact += exact;
    tally->recorded += recorded;
    tally->recorded_exact += recorded && exact;
    if (off * off > tally->worst * tally->worst)
        tally->worst = off;
    if (!recorded) {
        tally->edges++;
        bool unsure = replay->outcome == REPLAY_UNCERTAIN;
        verdict = unsure ? "uncertain" : foretold == outcome->failed ? "right" : "WRONG";
        *(unsure                        ? &tally->uncertain
          : foretold == outcome->failed ? &tally->right
                                        : &tally->wrong) += 1;
    }
    print_message("# %-26s %12" PRIu64 " %12" PRIu64 " %+8.3f %% %-6s %-9s %s\n", name + 4,
                  outcome->peak_reserved, replay->stats.reserved.peak, off,
                  outcome->failed ? "failed" : "ran", replay_outcome_text(replay->outcome),
                  verdict);
}

static void try_all(const struct data *data, const char *workload, struct tally *tally)
{
    struct snapshot snapshot;
    struct program program;
    struct check check;
    AUTO_FREE char *base = mem_printf("dev-%s-default-0", workload);
    read_record(data, base, &snapshot, &program);
    check_run(&snapshot, 0, &program, MODEL_NO_CAP, 0, &check);
    program_add_empty_caches(&program, check.empty_caches, check.empty_cache_count);
    for (size_t i = 0; i < data->outcomes.count; i++) {
        AUTO_FREE char *of = workload_of(data->outcomes.items[i]);
        if (strcmp(of, workload) != 0 || strcmp(data->outcomes.items[i], base) == 0)
            continue;
        struct outcome outcome = read_outcome(data, data->outcomes.items[i]);
        struct replay replay;
        replay_predict(&snapshot, 0, &program, &outcome.settings, outcome.cap_bytes,
                       outcome.total_bytes, &replay);
        judge(data, data->outcomes.items[i], &outcome, &replay, tally);
        json_decref(outcome.json);
    }
    check_fini(&check);
    program_fini(&program);
    snapshot_fini(&snapshot);
}

static void other_settings_and_caps_come_to_what_they_really_did(void **state)
{
    static const char *const workloads[] = {"ampckpt", "cnn", "graph", "leak", "lm", "streams"};
    const struct data *data = *state;
    struct tally tally = {0};
    skip_without(data);
    print_message("# %-26s %12s %12s %10s %-6s %-9s\n", "replayed from default-0", "recorded",
                  "foretold", "off", "it", "foretold");
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        try_all(data, workloads[i], &tally);
    print_message("# peak reserved exact: %zu of %zu (of those with a trace: %zu of %zu), the "
                  "worst %+.3f %% off\n",
                  tally.exact, tally.cases, tally.recorded_exact, tally.recorded, tally.worst);
    print_message("# outcomes at the edge: %zu right, %zu uncertain, %zu wrong of %zu\n",
                  tally.right, tally.uncertain, tally.wrong, tally.edges);
    assert_int_equal(tally.cases, 40 + 72);
    assert_true(tally.exact * 10 >= tally.cases * 9);
    assert_true(tally.recorded_exact * 10 >= tally.recorded * 9);
    assert_true(tally.worst <= 2 && tally.worst >= -2);
    assert_int_equal(tally.edges, 72);
    assert_true(tally.right * 100 >= tally.edges * 85);
    assert_int_equal(tally.wrong, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_is_repeated_event_by_event_with_its_layout_and_figures),
        cmocka_unit_test(the_record_is_repeated_without_knowing_its_cap),
        cmocka_unit_test(records_cut_in_the_middle_are_repeated_nearly_always),
        cmocka_unit_test(other_settings_and_caps_come_to_what_they_really_did),
    };
    return cmocka_run_group_tests(tests, open_data, close_data);
}
