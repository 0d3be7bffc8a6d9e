/* What was found, for people: where, the layers of memory, the cause, what would help. */
#include "base/mem.h"
#include "base/utf8.h"
#include "report/oom.h"

#include <string.h>

enum { NAME_COLUMNS = 38, PROCESSES_SHOWN = 10, NAME_MAX_COLUMNS = 4096 };

static void add_layer(struct text *out, int depth, const char *name, struct oom_size size)
{
    AUTO_TEXT struct text shown = {0};
    if (!size.valid)
        return;
    oom_size_add_text(size, &shown);
    text_addf(out, "  %*s%-*s %14s\n", 2 * depth, "", NAME_COLUMNS - 2 * depth, name, text_get(&shown));
}

static void add_processes(const struct oom *message, const struct oom_diagnosis *diagnosis, struct text *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < message->process_count; i++) {
        const struct oom_process *process = &message->processes[i];
        AUTO_FREE char *name = mem_printf("process %lld", (long long)process->pid);
        if (process->pid != diagnosis->own_pid && shown++ < PROCESSES_SHOWN)
            add_layer(out, 2, name, process->memory);
    }
    if (shown > PROCESSES_SHOWN)
        text_addf(out, "      and %zu more\n", shown - PROCESSES_SHOWN);
}

static void add_layers(const struct oom *message, const struct oom_diagnosis *diagnosis, struct text *out)
{
    const struct oom_size *of = message->of;
    bool others = diagnosis->others.valid && diagnosis->others.bytes > 0;
    add_layer(out, 0, "asked for", of[OOM_REQUESTED]);
    add_layer(out, 0, "the GPU has", of[OOM_TOTAL]);
    add_layer(out, 1, "free", of[OOM_FREE]);
    add_layer(out, 1, "this process", diagnosis->own);
    add_layer(out, 2, "allocated by tensors", of[OOM_ALLOCATED]);
    add_layer(out, 3, "of that in private pools", of[OOM_PRIVATE]);
    add_layer(out, 2, "reserved, in no tensor", diagnosis->unallocated);
    if (!of[OOM_ALLOCATED].valid)
        add_layer(out, 2, "reserved", diagnosis->reserved);
    add_layer(out, 2, "not the framework's", diagnosis->outside);
    if (others) {
        add_layer(out, 1, "other processes", diagnosis->others);
        add_processes(message, diagnosis, out);
    }
    if (diagnosis->unlisted.valid && diagnosis->unlisted.low > 0)
        add_layer(out, 1, "in use, of no listed process", diagnosis->unlisted);
    add_layer(out, 0, "the program may have", of[OOM_ALLOWED]);
}

/* A name, then words in a column of their own. */
static void add_words(struct text *out, const char *head, const char *words, size_t indent, size_t width)
{
    AUTO_TEXT struct text body = {0};
    text_wrap(&body, words, indent, width);
    size_t length = strlen(head);
    text_add(out, head);
    text_add(out, text_get(&body) + (length < indent ? length : indent));
}

static void add_remedies(const struct oom_diagnosis *diagnosis, size_t width, struct text *out)
{
    text_add(out, "\nWhat would help, in this order:\n");
    for (size_t i = 0; i < diagnosis->remedy_count; i++) {
        const struct oom_remedy *remedy = &diagnosis->remedies[i];
        char head[32];
        snprintf(head, sizeof head, "%3zu. ", i + 1);
        add_words(out, head, remedy->what, 5, width);
        add_words(out, "     Effect: ", remedy->effect, 13, width);
        add_words(out, "     Cost:   ", remedy->cost, 13, width);
    }
}

static void add_head(const struct oom_log *log, const struct oom *message, struct text *out)
{
    utf8_fit(log->name, NAME_MAX_COLUMNS, out);
    text_addf(out, ":%llu: %s", (unsigned long long)message->line, oom_framework_name(message->framework));
    if (message->gpu >= 0)
        text_addf(out, ", GPU %lld", (long long)message->gpu);
    if (message->source[0])
        text_addf(out, ", %s", message->source);
    if (message->shape[0])
        text_addf(out, ", tensor %s", message->shape);
    if (message->repeats > 0)
        text_addf(out, " (%llu times the same)", (unsigned long long)message->repeats + 1);
    text_add_char(out, '\n');
}

/* causes: those whose remedies stand above already. */
static void add_message(const struct oom_log *log, const struct oom *message, size_t width, unsigned *causes,
                        struct text *out)
{
    const struct oom_circumstances known = {
        .expandable = log->expandable, .growth = log->has_growth ? &log->growth : NULL, .batch_size = log->batch_size};
    struct oom_diagnosis diagnosis;
    AUTO_TEXT struct text quoted = {0};
    oom_diagnose(message, &known, &diagnosis);
    add_head(log, message, out);
    text_add(&quoted, "  ");
    utf8_fit(message->text, width - 2, &quoted);
    text_addf(out, "%s\n\n", text_get(&quoted));
    size_t before = out->length;
    add_layers(message, &diagnosis, out);
    if (out->length > before)
        text_add_char(out, '\n');
    text_addf(out, "Cause: %s%s\n", oom_cause_text(diagnosis.cause),
              diagnosis.sure || diagnosis.cause == OOM_CAUSE_UNKNOWN ? "" : " (probably)");
    for (size_t i = 0; i < diagnosis.reasons.count; i++)
        add_words(out, "  - ", diagnosis.reasons.items[i], 4, width);
    bool told = *causes >> diagnosis.cause & 1U;
    if (diagnosis.remedy_count > 0 && told)
        text_add(out, "\nWhat would help: as above, for the same cause.\n");
    else if (diagnosis.remedy_count > 0)
        add_remedies(&diagnosis, width, out);
    *causes |= 1U << diagnosis.cause;
    oom_diagnosis_fini(&diagnosis);
}

void oom_text(const struct oom_logs *logs, size_t width, struct text *out)
{
    unsigned causes = 0;
    bool any = false;
    for (size_t i = 0; i < logs->count; i++) {
        const struct oom_log *log = &logs->items[i];
        for (size_t k = 0; k < log->list.count; k++) {
            text_add(out, any ? "\n" : "");
            add_message(log, &log->list.items[k], width, &causes, out);
            any = true;
        }
        if (log->list.left_out > 0) {
            text_add_char(out, '\n');
            utf8_fit(log->name, NAME_MAX_COLUMNS, out);
            text_addf(out, ": and %llu more messages\n", (unsigned long long)log->list.left_out);
        }
    }
}
