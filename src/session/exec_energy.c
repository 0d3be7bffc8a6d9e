#include "session/exec_job.h"

#include "base/fs.h"
#include "base/json.h"
#include "session/command.h"
#include "session/energy_text.h"
#include "session/message.h"

#include <unistd.h>

void exec_energy_prepare(struct exec_energy *energy, struct strv *environment)
{
    struct err err = {0};
    if (!energy->energy_meters)
        return;
    energy->marks = exec_marks_new(environment, &err);
    if (err.text[0])
        cli_warning("no $TARE_MARKS, so nothing can be marked: %s", err.text);
}

void exec_energy_begin(struct exec_energy *energy, struct job *job)
{
    struct err err = {0};
    if (!energy->energy_meters)
        return;
    energy->measuring = measuring_new(energy->energy_meters, &err);
    if (energy->measuring)
        measuring_begin(energy->measuring, &(struct measuring_subject){.job = job_identity(job)});
    else
        cli_warning("energy is not measured: %s", err.text);
}

void exec_energy_step(struct exec_energy *energy)
{
    if (!energy->measuring)
        return;
    exec_marks_take(energy->marks, energy->measuring, false);
    measuring_step(energy->measuring);
}

void exec_energy_end(struct exec_energy *energy, struct job *job, int64_t end_ns)
{
    if (!energy->measuring)
        return;
    struct job_usage usage = job_usage(job);
    exec_marks_take(energy->marks, energy->measuring, true);
    measuring_end(energy->measuring, &usage, end_ns);
}

static bool write_json(const char *path, json_t *json)
{
    AUTO_TEXT struct text text = {0};
    struct err err = {0};
    json_print_taken(json, &text);
    bool written = fs_write_output(path, text_get(&text), text.length, &err);
    if (!written)
        cli_warning("the figures are not kept: %s", err.text);
    return written;
}

/* A command that could not be started has drawn nothing. */
static bool was_measured(const struct exec_energy *energy)
{
    return energy->measuring && measuring_has_ended(energy->measuring);
}

static json_t *with_section(json_t *json, json_t *gpu_memory)
{
    if (gpu_memory)
        json_object_set_new(json, "gpu_memory", gpu_memory);
    return json;
}

void exec_energy_show(struct exec_energy *energy, json_t *gpu_memory)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *doubt = exec_marks_doubt(energy->marks);
    AUTO(measured_fini) struct measured measured = {0};
    if (!was_measured(energy)) {
        if (energy->json_path && gpu_memory)
            write_json(energy->json_path, with_section(json_object(), gpu_memory));
        else
            json_decref(gpu_memory);
        return;
    }
    measuring_finish(energy->measuring, &measured);
    struct energy_page page = {.measured = &measured, .options = energy->energy_meters, .until = "until the command ended"};
    if (doubt)
        strv_add(&measured.notes, doubt);
    if (!energy->json_path)
        json_decref(gpu_memory);
    /* A disk that is full by now does not take with it what was measured. */
    if (!energy->json_path || !write_json(energy->json_path, with_section(energy_text_json(&page), gpu_memory))) {
        text_add_char(&text, '\n');
        energy_text(&page, &text);
        message_print_aside(&text);
    }
}

void exec_energy_fini(struct exec_energy *energy)
{
    measuring_free(energy->measuring);
    exec_marks_free(energy->marks);
    energy->measuring = NULL;
    energy->marks = NULL;
}
