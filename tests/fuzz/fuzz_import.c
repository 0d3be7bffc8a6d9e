/* events.jsonl of another machine: whatever its lines are, what the state table lets pass can be
 * written down and told as a result. */
#include "base/mem.h"
#include "results/store/db.h"
#include "results/store/experiment_json.h"
#include "results/store/import.h"
#include "results/store/journal.h"
#include "results/store/replay.h"
#include "results/store/results.h"
#include "results/store/schema.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EXPERIMENT = 2, EXPERIMENTS = 3 };

struct run {
    sqlite3 *db;
    struct plan plan;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void must_say(bool ok, const struct err *err)
{
    if (!ok)
        fprintf(stderr, "%s\n", err->text);
    must(ok);
}

static void make_run(struct run *run)
{
    struct err err;
    must(sqlite3_open(":memory:", &run->db) == SQLITE_OK);
    run->plan = (struct plan){.name = mem_strdup("fuzz"), .count = EXPERIMENTS};
    run->plan.experiments = mem_array(EXPERIMENTS, sizeof *run->plan.experiments);
    for (size_t i = 0; i < EXPERIMENTS; i++) {
        run->plan.experiments[i].number = i + 1;
        run->plan.experiments[i].id = mem_printf("repo_net_%03zu", i + 1);
        run->plan.experiments[i].foreground.repo = mem_strdup("repo");
        run->plan.experiments[i].foreground.model = mem_strdup("net");
        run->plan.experiments[i].foreground.cwd = mem_strdup("/");
        strv_add(&run->plan.experiments[i].foreground.argv, "/bin/true");
    }
    must_say(schema_make(run->db, &err) && journal_write_plan(run->db, &run->plan, &err), &err);
}

/* The plan is shared. */
static void copy_run(const struct run *from, struct run *out)
{
    struct err err;
    out->plan = from->plan;
    must(sqlite3_open(":memory:", &out->db) == SQLITE_OK);
    sqlite3_backup *backup = sqlite3_backup_init(out->db, "main", from->db, "main");
    must(backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE &&
         sqlite3_backup_finish(backup) == SQLITE_OK);
    must_say(db_run(out->db, &err, "PRAGMA foreign_keys=ON", ""), &err);
}

static void take(struct run *run, struct journal_replay *replay, struct import_lines *lines,
                 const char *line, size_t length)
{
    struct err err = {0};
    struct event event;
    enum experiment_state after;
    int64_t missing, before = lines->seq;
    bool usable = import_line_take(lines, line, length, &event, &missing, &err);
    must(missing >= 0 && lines->seq >= before);
    must(usable || err.text[0] != '\0');
    if (!usable)
        return;
    must(event.experiment == 0 || event.experiment == EXPERIMENT);
    must(lines->seq == before + missing + 1);
    if (journal_replay_check(replay, &event, &after, &err)) {
        /* What passes must fit into the tables: a refusal there would end the whole merge. */
        must_say(journal_write(run->db, lines->seq, &event, after, &err), &err);
        journal_replay_apply(replay, &event, after);
    }
    event_fini(&event);
}

static void tell(struct run *run)
{
    struct err err;
    struct results results = {0};
    must_say(results_load(run->db, &results, &err), &err);
    results_fini(&results);
    json_decref(files_experiment_json(run->db, &run->plan, EXPERIMENT, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run empty; /* its tables are made once */
    struct run run;
    struct journal_replay replay;
    const char *text = (const char *)data;
    struct import_lines lines = {.experiment = EXPERIMENT};
    if (!empty.db)
        make_run(&empty);
    copy_run(&empty, &run);
    journal_replay_init(&replay, EXPERIMENTS);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        take(&run, &replay, &lines, text + at, length);
        at += length + 1;
    }
    tell(&run);
    journal_replay_fini(&replay);
    db_close(&run.db);
    return 0;
}
