#include "results/store/store.h"
#include "results/store/tables.h"
#include "results/store/worker.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMED_MAX = 3 };

/* A last line without an end is being written, or was when its writer died. */
static bool read_lines(FILE *file, struct chain *chain, struct err *err)
{
    AUTO_TEXT struct text line = {0};
    int got;
    while ((got = fs_read_line(file, DB_CELL_MAX, &line)) != 0) {
        if (got > 0 && text_get(&line)[line.length - 1] != '\n')
            break;
        json_t *json = got < 0 ? NULL : json_load_bounded(text_get(&line), line.length, JSON_REJECT_DUPLICATES, NULL);
        json_int_t seq = 0;
        bool fits = json_get_int(json, "seq", &seq) && seq == chain->lines + 1;
        if (!fits && !chain->broken)
            chain->broken = chain->lines + 1;
        bool ok = chain_take(chain, text_get(&line), line.length, json, err);
        json_decref(json);
        if (!ok)
            return false;
    }
    return !ferror(file) || err_sys(err, "read events.jsonl");
}

static void add(struct records_report *out, const char *name)
{
    text_addf(&out->changed, "%s%s", out->changed.length ? ", " : "", name);
    out->state = RECORDS_CHANGED;
}

static bool is_same(int dir, const char *name, off_t limit, const struct digest *wanted)
{
    struct digest is;
    return digest_of_file(dir, name, limit, &is, NULL) && digest_equal(&is, wanted);
}

static void check_experiments(int dir, const struct plan *plan, const struct chain_files *files,
                              struct records_report *out)
{
    size_t changed = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (!files->known[i])
            continue;
        AUTO_CLOSE int folder = fs_open_folder_beneath(dir, plan->experiments[i].id);
        if ((folder >= 0 && is_same(folder, "experiment.json", DB_CELL_MAX, &files->experiments[i])) ||
            changed++ >= NAMED_MAX)
            continue;
        AUTO_FREE char *name = mem_printf("%s/experiment.json", plan->experiments[i].id);
        add(out, name);
    }
    if (changed > NAMED_MAX)
        text_addf(&out->changed, " and %zu more", changed - NAMED_MAX);
}

static bool check_files(int dir, sqlite3 *db, const struct plan *plan, const struct chain *chain,
                        struct records_report *out, struct err *err)
{
    struct digest is;
    if (!tables_digest(db, chain->lines - 1, &is, err))
        return false;
    if (!digest_equal(&is, &chain->files.db))
        add(out, "run.db");
    for (size_t i = 0; i < SUMMARY_FILES; i++)
        if (chain->files.has_summary[i] && !is_same(dir, summary_name(i), JSONL_BYTES_MAX, &chain->files.summary[i]))
            add(out, summary_name(i));
    check_experiments(dir, plan, &chain->files, out);
    return true;
}

static bool verify(int dir, sqlite3 *db, struct plan *plan, struct chain *chain, struct records_report *out,
                   struct err *err)
{
    AUTO_FILE FILE *file = jsonl_read(dir, err);
    if (!file || !schema_check(db, err) || !journal_read_plan(db, plan, err))
        return false;
    chain_init(chain, plan->count);
    if (!chain_begin(chain, db, dir, err) || !read_lines(file, chain, err))
        return false;
    out->count = chain->lines;
    out->unchained = chain->unchained;
    if (chain->lines > 0)
        digest_print(&chain->last, out->last_hash);
    if (chain->unchained == chain->lines && !chain->broken) {
        out->state = RECORDS_NOT_CHAINED;
        return true;
    }
    out->state = chain->files.closed ? RECORDS_HOLD : RECORDS_OPEN;
    if (chain->broken == 1) {
        add(out, "settings.json, registry.json, the plan, or the first record of events.jsonl");
    } else if (chain->broken) {
        AUTO_FREE char *where =
            mem_printf("events.jsonl (record %lld, or the one before it)", (long long)chain->broken);
        add(out, where);
    }
    return !chain->files.closed || check_files(dir, db, plan, chain, out, err);
}

bool records_verify(const char *run_dir, struct records_report *out, struct err *err)
{
    struct chain chain = {.copy = -1};
    struct plan plan = {0};
    struct snapshot snapshot;
    *out = (struct records_report){.state = RECORDS_UNREADABLE};
    AUTO_CLOSE int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, "open %s", run_dir);
    if (!snapshot_open(run_dir, &snapshot, err))
        return false;
    bool ok = verify(dir, snapshot.db, &plan, &chain, out, err);
    if (!ok)
        out->state = RECORDS_UNREADABLE;
    chain_fini(&chain);
    plan_fini(&plan);
    snapshot_close(&snapshot);
    return ok;
}

const char *records_state_name(enum records_state state)
{
    static const char *const names[] = {"unreadable", "not_chained", "open", "changed", "hold"};
    return names[state];
}
