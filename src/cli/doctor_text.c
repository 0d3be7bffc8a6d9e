#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"
#include "cli/doctor.h"
#include "cli/texts.h"
#include "tare_build.h"

#include <string.h>

#define BOLD   "\033[1m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define RED    "\033[1;31m"
#define PLAIN  "\033[0m"

enum { NAME_WIDTH = 15, INDENT = 2 + 5 + 2 + NAME_WIDTH + 2 };

static const struct {
    const char *word, *shown, *colour;
} marks[] = {
    [FINDING_YES] = {"ok", "ok", GREEN},
    [FINDING_NO] = {"warn", "warn", YELLOW},
    [FINDING_FACT] = {"info", "", ""},
    [FINDING_WRONG] = {"fail", "fail", RED},
};

void findings_add(struct findings *findings, struct finding finding)
{
    findings->items = mem_room(findings->items, findings->count, &findings->capacity, sizeof *findings->items);
    findings->items[findings->count++] = finding;
}

void findings_fini(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].text);
        free(findings->items[i].reason);
        free(findings->items[i].mend);
        json_decref(findings->items[i].data);
    }
    free(findings->items);
    *findings = (struct findings){0};
}

bool findings_any_wrong(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].mark == FINDING_WRONG)
            return true;
    return false;
}

/* Words behind what stands in the line already. */
static void add_wrapped(struct text *out, const char *words, size_t width)
{
    AUTO_TEXT struct text lines = {0};
    text_wrap(&lines, words, INDENT, width);
    text_add(out, text_get(&lines) + INDENT);
}

static void add_finding(const struct doctor_page *page, const struct finding *finding, struct text *out)
{
    const char *colour = page->colour ? marks[finding->mark].colour : "";
    text_addf(out, "  %s%-5s%s  %-*s  ", colour, marks[finding->mark].shown, *colour ? PLAIN : "", NAME_WIDTH,
              finding->name);
    add_wrapped(out, finding->text, page->width);
    if (finding->reason) {
        AUTO_FREE char *reason = mem_printf("why: %s", finding->reason);
        text_wrap(out, reason, INDENT, page->width);
    }
    /* A command on one line: it is to be copied. */
    if (finding->mend && finding->advice) {
        AUTO_FREE char *mend = mem_printf("mend: %s", finding->mend);
        text_wrap(out, mend, INDENT, page->width);
    } else if (finding->mend) {
        text_addf(out, "%*smend: %s\n", INDENT, "", finding->mend);
    }
}

static void add_title(const struct doctor_page *page, const char *title, struct text *out)
{
    text_addf(out, "\n%s%s%s\n", page->colour ? BOLD : "", title, page->colour ? PLAIN : "");
}

static const char *promise_text(bool kernel_backed)
{
    return kernel_backed ? "When an experiment is over, or " TARE_NAME " is killed, the kernel itself ends all of it."
                         : "What an experiment leaves behind is searched for and ended, but a process that hides well "
                           "may outlive it; below is what would make it certain.";
}

bool doctor_fit(const struct doctor_page *page)
{
    return page->kernel_backed && !findings_any_wrong(page->findings);
}

/* "GPU 0 is busy" would be one line of many: each check that fails is named once, however many GPUs it fails on. */
static void add_failed(const struct doctor_page *page, struct text *out)
{
    AUTO_STRV struct strv names = {0};
    if (!page->kernel_backed)
        strv_add(&names, "containment (best effort)");
    for (size_t i = 0; i < page->findings->count; i++)
        if (page->findings->items[i].mark == FINDING_WRONG)
            strv_add_once(&names, page->findings->items[i].name);
    AUTO_FREE char *list = strv_join(&names, ", ");
    text_add(out, list);
}

static void add_headline(const struct doctor_page *page, struct text *out)
{
    AUTO_TEXT struct text line = {0};
    bool fit = doctor_fit(page);
    size_t warnings = 0;
    for (size_t i = 0; i < page->findings->count; i++)
        warnings += page->findings->items[i].mark == FINDING_NO;
    text_addf(&line, "This machine is %s to measure", fit ? "fit" : "not fit");
    if (!fit) {
        text_add(&line, ", because of: ");
        add_failed(page, &line);
    }
    if (warnings > 0)
        text_addf(&line, "%s %zu warning%s", fit ? ", with" : ";", warnings, warnings == 1 ? "" : "s");
    text_add_char(&line, '.');
    text_add(out, !page->colour ? "" : fit ? GREEN : RED);
    text_wrap(out, text_get(&line), 0, page->width);
    text_add(out, page->colour ? PLAIN : "");
}

void doctor_text(const struct doctor_page *page, struct text *out)
{
    AUTO_FREE char *layers = containment_describe(page->containment);
    const char *section = NULL;
    AUTO_FREE char *promise =
        mem_printf("The promise that nothing outlives an experiment is %s: %s. %s",
                   page->kernel_backed ? "kernel-backed" : "best effort", layers, promise_text(page->kernel_backed));
    add_headline(page, out);
    text_wrap(out, promise, 0, page->width);
    for (size_t i = 0; i < page->findings->count; i++) {
        const struct finding *finding = &page->findings->items[i];
        if (!section || strcmp(section, finding->section) != 0)
            add_title(page, finding->section, out);
        section = finding->section;
        add_finding(page, finding, out);
    }
}

void doctor_json(const struct doctor_page *page, struct text *out)
{
    AUTO_FREE char *layers = containment_describe(page->containment);
    json_t *json = json_object(), *checks = json_array();
    json_object_set_new(json, "version", json_string(TARE_VERSION));
    json_object_set_new(json, "kernel_backed", json_boolean(page->kernel_backed));
    json_object_set_new(json, "layers", json_string(layers));
    json_object_set_new(json, "fit", json_boolean(doctor_fit(page)));
    for (size_t i = 0; i < page->findings->count; i++) {
        const struct finding *finding = &page->findings->items[i];
        json_t *check = json_object();
        json_object_set_new(check, "section", json_string(finding->section));
        json_object_set_new(check, "name", json_string(finding->name));
        json_object_set_new(check, "status", json_string(marks[finding->mark].word));
        json_object_set_new(check, "text", json_text_or_null(finding->text));
        json_object_set_new(check, "reason", json_text_or_null(finding->reason));
        json_object_set_new(check, "mend", json_text_or_null(finding->mend));
        if (finding->data)
            json_object_set(check, "data", finding->data);
        json_array_append_new(checks, check);
    }
    json_object_set_new(json, "checks", checks);
    json_print_pretty(json, out);
    json_decref(json);
}
