#include "doctor/clean_table.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/table.h"
#include "tare_build.h"

#include <math.h>
#include <pwd.h>
#include <string.h>

/* The last column takes what is left of the line, and this much in any case. */
enum { COMMAND_LEAST = 20, DESCRIBED_COMMAND = 60 };

typedef bool choose_fn(const struct leftover *leftover, const struct leftover *like);

char *clean_user_name(uid_t uid)
{
    const struct passwd *user = getpwuid(uid);
    return user ? mem_strdup(user->pw_name) : mem_printf("%u", (unsigned)uid);
}

static char *age_text(double age_s)
{
    char text[32];
    if (age_s < 0)
        return mem_strdup("?");
    long long hours = llround(age_s / 3600);
    if (hours >= 48)
        return mem_printf("%lld d %02lld h", hours / 24, hours % 24);
    clock_format_duration(age_s, text);
    return mem_strdup(text);
}

static char *size_text(uint64_t bytes)
{
    double mib = (double)bytes / (1 << 20);
    return mib < 1023.5 ? mem_printf("%.0f MiB", mib) : mem_printf("%.1f GiB", mib / 1024);
}

static char *short_command(const char *command, size_t columns)
{
    struct text text = {0};
    if (utf8_columns(command) <= columns)
        return mem_strdup(command);
    utf8_fit(command, columns - 3, &text);
    text_add(&text, "...");
    return text_take(&text);
}

/* Who started it; whoever started an orphan has ended. */
static char *parent_text(const struct leftovers *leftovers, const struct census_process *process)
{
    const struct census_process *parent = census_find(&leftovers->census, process->stat.ppid);
    if (process->orphan)
        return mem_strdup("orphan");
    return mem_printf("%d %s", (int)process->stat.ppid, parent ? parent->stat.comm : "");
}

/* "nvidia0,1" for /dev/nvidia0, /dev/nvidia1 and /dev/nvidiactl, which every user of a GPU has
 * open. */
static void add_device_name(const char *name, const struct gpu_vendor **numbered, struct text *out)
{
    const struct gpu_vendor *vendor = gpu_vendor_of_device(name);
    if (out->length)
        text_add_char(out, ',');
    text_add(out, vendor && *numbered == vendor ? name + strlen(vendor->device_name) : name);
    *numbered = vendor;
}

static char *devices_text(const struct leftover *leftover, const struct gpu_memory_users *memory)
{
    const struct strv *devices = &leftover->process->devices;
    struct text text = {0};
    const struct gpu_vendor *numbered = NULL;
    EACH (item, devices->items, devices->count) {
        const char *name = strrchr(*item, '/') + 1;
        if (devices->count == 1 || !gpu_vendor_of_control(name))
            add_device_name(name, &numbered, &text);
    }
    /* What another user's process has open is not seen; the driver tells where it holds memory. */
    for (size_t i = 0; devices->count == 0 && i < memory->count; i++) {
        const struct gpu_memory_use *use = &memory->items[i];
        AUTO_FREE char *path = gpu_vendor_device_path(use->vendor, "", use->minor);
        if (use->pid == leftover->process->stat.pid && use->minor >= 0)
            add_device_name(path + 1, &numbered, &text);
    }
    return text_take(&text);
}

static void add_leftover_row(struct table *table, const struct clean_view *view,
                             const struct leftover *leftover, size_t columns)
{
    const struct census_process *process = leftover->process;
    AUTO_FREE char *devices = devices_text(leftover, &view->memory);
    table_row(table, mem_printf("%d", (int)process->stat.pid), clean_user_name(process->uid),
              age_text(process->age_s), parent_text(&view->leftovers, process),
              mem_strdup(devices[0] ? devices : "-"),
              leftover->has_memory ? size_text(leftover->memory_bytes) : mem_strdup("-"),
              columns ? short_command(process->command, columns) : NULL);
}

/* columns: the width of the command; 0: without it. */
static void add_leftover_table(const struct clean_view *view, choose_fn *choose,
                               const struct leftover *like, size_t columns, struct text *out)
{
    struct table *table = table_of(false, ">PID", "USER", ">AGE", "PARENT", "GPU", ">MEMORY",
                                   columns ? "COMMAND" : NULL);
    EACH (item, view->leftovers.items, view->leftovers.count)
        if (choose(item, like))
            add_leftover_row(table, view, item, columns);
    table_end(table, out);
}

/* How many columns the command may take: what the others leave of the line. */
static size_t command_columns(const struct clean_view *view, choose_fn *choose,
                              const struct leftover *like, size_t width)
{
    AUTO_TEXT struct text others = {0};
    if (width == 0)
        return SIZE_MAX;
    add_leftover_table(view, choose, like, 0, &others);
    /* The last of them is flush right: every line is as long as the table is wide. */
    size_t taken = strcspn(text_get(&others), "\n") + 2;
    return taken + COMMAND_LEAST < width ? width - taken : COMMAND_LEAST;
}

static void add_section(const struct clean_view *view, choose_fn *choose,
                        const struct leftover *like, size_t width, struct text *out)
{
    add_leftover_table(view, choose, like, command_columns(view, choose, like, width), out);
}

static bool is_of_the_same_run(const struct leftover *leftover, const struct leftover *like)
{
    if (leftover->kind != like->kind)
        return false;
    if (leftover->kind != LEFTOVER_OF_DEAD_RUN)
        return true;
    bool same_dir = leftover->run_dir && like->run_dir
                        ? strcmp(leftover->run_dir, like->run_dir) == 0
                        : leftover->run_dir == like->run_dir;
    return leftover->run == like->run && same_dir &&
           fabs(leftover->run_age_s - like->run_age_s) < 1;
}

static bool is_of_a_live_run(const struct leftover *leftover, const struct leftover *like)
{
    (void)like;
    return leftover->kind == LEFTOVER_LIVE_GPU;
}

static bool is_foreign_gpu_user(const struct leftover *leftover, const struct leftover *like)
{
    (void)like;
    return leftover->kind == LEFTOVER_NONE_GPU;
}

static void add_run_title(const struct leftover *leftover, struct text *out)
{
    AUTO_FREE char *age = age_text(leftover->run_age_s);
    if (leftover->kind == LEFTOVER_TAGGED) {
        text_add(out, "Left behind by " TARE_NAME ", by which run is not known:\n");
        return;
    }
    text_addf(out, "Left behind by %s of %s ago",
              leftover->run == STATE_EXEC ? "a '" TARE_NAME " exec'" : "a run", age);
    text_addf(out, "%s%s:\n", leftover->run_dir ? ", " : "",
              leftover->run_dir ? leftover->run_dir : "");
}

static bool was_shown(const struct leftovers *leftovers, size_t i)
{
    EACH (item, leftovers->items, i)
        if (is_of_the_same_run(item, &leftovers->items[i]))
            return true;
    return false;
}

static size_t count_chosen(const struct leftovers *leftovers, choose_fn *choose)
{
    size_t found = 0;
    EACH (item, leftovers->items, leftovers->count)
        found += choose(item, NULL);
    return found;
}

static void add_others(const struct clean_view *view, size_t width, struct text *out)
{
    const struct leftovers *leftovers = &view->leftovers;
    size_t live = count_chosen(leftovers, is_of_a_live_run),
           foreign = count_chosen(leftovers, is_foreign_gpu_user);
    if (live > 0) {
        text_add(out, "\nOf live runs of " TARE_NAME ", with a GPU open:\n");
        add_section(view, is_of_a_live_run, NULL, width, out);
    }
    if (foreign > 0) {
        text_add(out, "\nOther processes that have a GPU open:\n");
        add_section(view, is_foreign_gpu_user, NULL, width, out);
    }
    if (live + foreign + leftovers->unseen == 0)
        text_add(out, "No other process that can be seen has a GPU open.\n");
    if (leftovers->unseen > 0) {
        AUTO_FREE char *size = size_text(leftovers->unseen_bytes);
        bool one = leftovers->unseen == 1;
        text_addf(
            out,
            "\n%zu more hold%s %s of GPU memory, not seen from here (in another container?);\n",
            leftovers->unseen, one ? "s" : "", size);
        text_addf(out, "the driver's number%s %s\n", one ? " is" : "s are",
                  text_get(&leftovers->unseen_pids));
    }
}

static void add_hints(const struct leftovers *leftovers, struct text *out)
{
    bool ours = leftovers_count_ours(leftovers) > 0,
         foreign = count_chosen(leftovers, is_foreign_gpu_user) > 0;
    text_add(out, ours || foreign ? "\n" : "");
    if (ours)
        text_addf(out, "%s clean --kill      ends what is left behind\n", TARE_NAME);
    if (foreign)
        text_addf(out, "%s clean --pid PID   ends one of the other processes\n", TARE_NAME);
}

void clean_table(const struct clean_view *view, size_t width, struct text *out)
{
    const struct leftovers *leftovers = &view->leftovers;
    bool first = true;
    for (size_t i = 0; i < leftovers->count; i++) {
        if (!leftover_is_ours(&leftovers->items[i]) || was_shown(leftovers, i))
            continue;
        text_add(out, first ? "" : "\n");
        add_run_title(&leftovers->items[i], out);
        add_section(view, is_of_the_same_run, &leftovers->items[i], width, out);
        first = false;
    }
    if (first)
        text_add(out, "Nothing of " TARE_NAME " is left behind.\n");
    add_others(view, width, out);
    add_hints(leftovers, out);
}

char *clean_describe(const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    struct text text = {0};
    AUTO_FREE char *age = age_text(process->age_s);
    AUTO_FREE char *user = clean_user_name(process->uid);
    AUTO_FREE char *command = short_command(process->command, DESCRIBED_COMMAND);
    AUTO_FREE char *devices = strv_join(&process->devices, " ");
    text_addf(&text, "process %d (%s) of user %s, ", (int)process->stat.pid, command, user);
    text_addf(&text, process->age_s >= 0 ? "%s old" : "of unknown age", age);
    if (process->orphan)
        text_add(&text, ", an orphan");
    if (process->devices.count)
        text_addf(&text, ", with %s open", devices);
    if (leftover->has_memory) {
        AUTO_FREE char *size = size_text(leftover->memory_bytes);
        text_addf(&text, ", holding %s of GPU memory", size);
    }
    return text_take(&text);
}
