#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"
#include "cli/clean.h"
#include "report/table.h"
#include "tare_build.h"

#include <pwd.h>
#include <string.h>

/* A command line is the last column: cut, so that a table stays one. */
enum { COMMAND_SHOWN = 60 };

const struct census_roots clean_roots = {"/proc", "/dev"};

static char *user_name(uid_t uid)
{
    const struct passwd *user = getpwuid(uid);
    return user ? mem_strdup(user->pw_name) : mem_printf("%u", (unsigned)uid);
}

static const char *parent_name(const struct leftovers *leftovers, const struct census_process *process)
{
    const struct census_process *parent = census_find(&leftovers->census, process->stat.ppid);
    return parent ? parent->stat.comm : "";
}

/* Cut between two characters. */
static char *short_command(const char *command)
{
    size_t length = strlen(command);
    if (length <= COMMAND_SHOWN)
        return mem_strdup(command);
    length = COMMAND_SHOWN - 3;
    while (length > 0 && ((unsigned char)command[length] & 0xC0) == 0x80)
        length--;
    return mem_printf("%.*s...", (int)length, command);
}

/* "/dev/nvidia0 /dev/nvidiactl" without the folder. */
static char *short_devices(const struct strv *devices)
{
    struct text text = {0};
    size_t folder = strlen(clean_roots.dev) + 1;
    for (size_t i = 0; i < devices->count; i++)
        text_addf(&text, "%s%s", i ? " " : "", devices->items[i] + folder);
    return text_take(&text);
}

static const char *left_by(const struct leftover *leftover)
{
    if (leftover->kind == LEFTOVER_TAGGED)
        return "unknown (by its tag)";
    if (leftover->run_dir)
        return leftover->run_dir;
    return leftover->run == STATE_EXEC ? TARE_NAME " exec" : "a run";
}

static void add_row(struct table *table, const struct leftovers *leftovers, const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    char age[32] = "?";
    AUTO_FREE char *pid = mem_printf("%d", (int)process->stat.pid);
    AUTO_FREE char *user = user_name(process->uid);
    AUTO_FREE char *parent = mem_printf("%d %s", (int)process->stat.ppid, parent_name(leftovers, process));
    AUTO_FREE char *devices = short_devices(&process->devices);
    AUTO_FREE char *command = short_command(process->command);
    if (process->age_s >= 0)
        clock_format_duration(process->age_s, age);
    table_add_row(table);
    table_add_cell(table, pid, NULL);
    table_add_cell(table, user, NULL);
    table_add_cell(table, age, NULL);
    table_add_cell(table, parent, NULL);
    table_add_cell(table, process->orphan ? "yes" : "no", NULL);
    table_add_cell(table, devices, NULL);
    if (leftover_is_ours(leftover))
        table_add_cell(table, left_by(leftover), NULL);
    else
        table_add_cell(table, leftover->kind == LEFTOVER_LIVE_GPU ? "yes" : "no", NULL);
    table_add_cell(table, command, NULL);
}

static void add_table(const struct leftovers *leftovers, bool ours, struct text *out)
{
    struct table *table = table_new(false);
    table_add_column(table, "PID", true);
    table_add_column(table, "USER", false);
    table_add_column(table, "AGE", true);
    table_add_column(table, "PARENT", false);
    table_add_column(table, "ORPHAN", false);
    table_add_column(table, "GPU", false);
    table_add_column(table, ours ? "LEFT BY" : "LIVE RUN", false);
    table_add_column(table, "COMMAND", false);
    for (size_t i = 0; i < leftovers->count; i++)
        if (leftover_is_ours(&leftovers->items[i]) == ours)
            add_row(table, leftovers, &leftovers->items[i]);
    table_print(table, out);
    table_free(table);
}

void clean_table(const struct leftovers *leftovers, struct text *out)
{
    size_t ours = leftovers_count_ours(leftovers), others = leftovers->count - ours;
    if (ours > 0) {
        text_add(out, "Left behind by " TARE_NAME ":\n");
        add_table(leftovers, true, out);
    } else {
        text_add(out, "Nothing of " TARE_NAME " is left behind.\n");
    }
    if (others > 0) {
        text_add(out, "\nOther processes that have a GPU open:\n");
        add_table(leftovers, false, out);
    }
}

static json_t *process_json(const struct leftovers *leftovers, const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    AUTO_FREE char *user = user_name(process->uid);
    json_t *json = json_object(), *devices = json_array();
    for (size_t i = 0; i < process->devices.count; i++)
        json_array_append_new(devices, json_string(process->devices.items[i]));
    json_object_set_new(json, "pid", json_integer(process->stat.pid));
    json_object_set_new(json, "start_time", json_integer((json_int_t)process->stat.start_time));
    json_object_set_new(json, "uid", json_integer(process->uid));
    json_object_set_new(json, "user", json_string(user));
    json_object_set_new(json, "command", json_string(process->command));
    json_object_set_new(json, "age_s", process->age_s < 0 ? json_null() : json_real(number_round(process->age_s, 6)));
    json_object_set_new(json, "parent", json_integer(process->stat.ppid));
    json_object_set_new(json, "parent_command", json_string(parent_name(leftovers, process)));
    json_object_set_new(json, "orphan", json_boolean(process->orphan));
    json_object_set_new(json, "devices", devices);
    return json;
}

static json_t *ours_json(const struct leftovers *leftovers, const struct leftover *leftover)
{
    json_t *json = process_json(leftovers, leftover);
    bool known = leftover->kind == LEFTOVER_OF_DEAD_RUN;
    const char *tag = leftover->process->tag;
    json_object_set_new(json, "tag", tag ? json_string(tag) : json_null());
    json_object_set_new(json, "left_by",
                        known ? json_string(leftover->run == STATE_EXEC ? "exec" : "run") : json_null());
    json_object_set_new(json, "run_dir", leftover->run_dir ? json_string(leftover->run_dir) : json_null());
    return json;
}

static json_t *other_json(const struct leftovers *leftovers, const struct leftover *leftover)
{
    json_t *json = process_json(leftovers, leftover);
    json_object_set_new(json, "live_run", json_boolean(leftover->kind == LEFTOVER_LIVE_GPU));
    return json;
}

void clean_json(const struct leftovers *leftovers, struct text *out)
{
    json_t *json = json_object(), *ours = json_array(), *others = json_array(), *kept = json_array();
    for (size_t i = 0; i < leftovers->count; i++) {
        const struct leftover *leftover = &leftovers->items[i];
        if (leftover_is_ours(leftover))
            json_array_append_new(ours, ours_json(leftovers, leftover));
        else
            json_array_append_new(others, other_json(leftovers, leftover));
    }
    for (size_t i = 0; i < leftovers->kept.count; i++)
        json_array_append_new(kept, json_string(leftovers->kept.items[i]));
    json_object_set_new(json, "leftovers", ours);
    json_object_set_new(json, "gpu_processes", others);
    json_object_set_new(json, "files_left_alone", kept);
    json_object_set_new(json, "not_looked_into", json_integer((json_int_t)leftovers->census.closed));
    json_print_pretty(json, out);
    json_decref(json);
}

char *clean_describe(const struct leftover *leftover)
{
    const struct census_process *process = leftover->process;
    struct text text = {0};
    char age[32] = "of unknown age";
    AUTO_FREE char *user = user_name(process->uid);
    AUTO_FREE char *command = short_command(process->command);
    AUTO_FREE char *devices = strv_join(&process->devices, " ");
    if (process->age_s >= 0)
        clock_format_duration(process->age_s, age);
    text_addf(&text, "process %d (%s) of user %s, %s%s", (int)process->stat.pid, command, user, age,
              process->age_s >= 0 ? " old" : "");
    if (process->orphan)
        text_add(&text, ", an orphan");
    if (process->devices.count)
        text_addf(&text, ", with %s open", devices);
    return text_take(&text);
}
