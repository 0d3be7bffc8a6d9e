#include "doctor/doctor_text.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/strv.h"
#include "machine/contain/probe.h"
#include "tare_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BOLD   "\033[1m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define RED    "\033[1;31m"
#define PLAIN  "\033[0m"

enum { NAME_WIDTH = 15, INDENT = 2 + 5 + 2 + NAME_WIDTH + 2 };

/* What each mark weighs in the first line, which says nothing else: unfit ones come first, each is
 * named with its check. */
static const struct {
    const char *word, *shown, *colour;
    bool unfit;
    const char *headline; /* before the names of its checks; NULL: not in the first line */
    bool counted;         /* "2 warnings: " */
} marks[] = {
    [FINDING_YES] = {.word = "ok", .shown = "ok", .colour = GREEN},
    [FINDING_NO] =
        {.word = "warn", .shown = "warn", .colour = YELLOW, .headline = "warning", .counted = true},
    [FINDING_FACT] = {.word = "info", .shown = "", .colour = ""},
    [FINDING_UNCHECKED] = {.word = "unchecked",
                           .shown = "?",
                           .colour = YELLOW,
                           .headline = "not checked"},
    [FINDING_WRONG] =
        {.word = "fail", .shown = "fail", .colour = RED, .unfit = true, .headline = "because of"},
};

void findings_add(struct findings *findings, struct finding finding)
{
    findings->items = mem_room(findings->items, findings->count, sizeof *findings->items);
    findings->items[findings->count++] = finding;
}

__attribute__((format(printf, 5, 0))) static void set_finding_text(struct finding *finding,
                                                                   enum finding_mark mark,
                                                                   const char *reason,
                                                                   const char *mend,
                                                                   const char *format, va_list args)
{
    AUTO_FREE char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    finding->mark = mark;
    finding->text = mem_strdup(text ? text : format);
    finding->reason = mem_strdup(reason);
    finding->mend = mem_strdup(mend);
}

void finding_set(struct finding *finding, enum finding_mark mark, const char *reason,
                 const char *mend, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_finding_text(finding, mark, reason, mend, format, args);
    va_end(args);
}

void findings_say(struct findings *findings, const char *section, const char *name,
                  enum finding_mark mark, const char *reason, const char *mend, const char *format,
                  ...)
{
    struct finding finding = {.section = section, .name = name};
    va_list args;
    va_start(args, format);
    set_finding_text(&finding, mark, reason, mend, format, args);
    va_end(args);
    findings_add(findings, finding);
}

void findings_fini(struct findings *findings)
{
    EACH (item, findings->items, findings->count) {
        free(item->text);
        free(item->reason);
        free(item->mend);
        json_decref(item->data);
    }
    free(findings->items);
    *findings = (struct findings){0};
}

static void add_finding_line(const struct doctor_page *page, const struct finding *finding,
                             struct text *out)
{
    const char *colour = page->colour ? marks[finding->mark].colour : "";
    text_addf(out, "  %s%-5s%s  %-*s  ", colour, marks[finding->mark].shown, *colour ? PLAIN : "",
              NAME_WIDTH, finding->name);
    /* Words behind what is in the line already. */
    AUTO_TEXT struct text lines = {0};
    text_wrap(&lines, finding->text, INDENT, page->width);
    text_add(out, text_get(&lines) + INDENT);
    if (finding->reason) {
        AUTO_FREE char *reason = mem_printf("why: %s", finding->reason);
        text_wrap(out, reason, INDENT, page->width);
    }
    /* A command on one line: it is to be copied. */
    if (finding->mend && finding->advice) {
        AUTO_FREE char *mend = mem_printf("fix: %s", finding->mend);
        text_wrap(out, mend, INDENT, page->width);
    } else if (finding->mend) {
        text_addf(out, "%*sfix: %s\n", INDENT, "", finding->mend);
    }
}

static const char *promise_text(bool kernel_backed)
{
    return kernel_backed ? "When an experiment is over, or " TARE_NAME
                           " is killed, the kernel itself ends all of it."
                         : "What an experiment leaves behind is searched for and ended, but a "
                           "process that hides well "
                           "may outlive it; below is what would make it certain.";
}

bool doctor_fit(const struct doctor_page *page)
{
    bool fit = page->kernel_backed;
    EACH (item, page->findings->items, page->findings->count)
        fit = fit && !marks[item->mark].unfit;
    return fit;
}

/* Names each check once, however many GPUs it is about. */
static size_t list_marked_names(const struct doctor_page *page, enum finding_mark mark,
                                struct strv *names)
{
    size_t count = 0;
    if (mark == FINDING_WRONG && !page->kernel_backed)
        strv_add(names, "containment (best effort)");
    EACH (item, page->findings->items, page->findings->count)
        if (item->mark == mark) {
            strv_add_once(names, item->name);
            count++;
        }
    return count;
}

static void add_marked(const struct doctor_page *page, enum finding_mark mark, const char *joint,
                       struct text *out)
{
    AUTO_STRV struct strv names = {0};
    size_t count = list_marked_names(page, mark, &names);
    AUTO_FREE char *list = strv_join(&names, ", ");
    if (names.count == 0)
        return;
    text_add(out, joint);
    if (marks[mark].counted)
        text_addf(out, "%zu %s%s: %s", count, marks[mark].headline, count == 1 ? "" : "s", list);
    else
        text_addf(out, "%s: %s", marks[mark].headline, list);
}

static void add_headline(const struct doctor_page *page, struct text *out)
{
    AUTO_TEXT struct text line = {0};
    AUTO_STRV struct strv unchecked = {0};
    bool fit = doctor_fit(page);
    list_marked_names(page, FINDING_UNCHECKED, &unchecked);
    text_addf(&line, "This machine is %s to measure%s", fit ? "fit" : "not fit",
              fit && unchecked.count > 0 ? " as far as it was checked" : "");
    add_marked(page, FINDING_WRONG, ", ", &line);
    add_marked(page, FINDING_UNCHECKED, "; ", &line);
    add_marked(page, FINDING_NO, fit && unchecked.count == 0 ? ", with " : "; ", &line);
    text_add_char(&line, '.');
    text_add(out, !page->colour ? "" : !fit ? RED : unchecked.count > 0 ? YELLOW : GREEN);
    text_wrap(out, text_get(&line), 0, page->width);
    text_add(out, page->colour ? PLAIN : "");
}

void doctor_text(const struct doctor_page *page, struct text *out)
{
    AUTO_FREE char *layers = containment_describe(page->containment);
    const char *section = NULL;
    AUTO_FREE char *promise =
        mem_printf("The promise that nothing outlives an experiment is %s: %s. %s",
                   page->kernel_backed ? "kernel-backed" : "best effort", layers,
                   promise_text(page->kernel_backed));
    add_headline(page, out);
    text_wrap(out, promise, 0, page->width);
    EACH (finding, page->findings->items, page->findings->count) {
        if (!section || strcmp(section, finding->section) != 0)
            text_addf(out, "\n%s%s%s\n", page->colour ? BOLD : "", finding->section,
                      page->colour ? PLAIN : "");
        section = finding->section;
        add_finding_line(page, finding, out);
    }
}

void doctor_json(const struct doctor_page *page, struct text *out)
{
    AUTO_FREE char *layers = containment_describe(page->containment);
    json_t *checks = json_array();
    EACH (finding, page->findings->items, page->findings->count)
        json_array_append_new(
            checks,
            json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:b, s:O*}", "section", finding->section,
                      "name", finding->name, "status", marks[finding->mark].word, "text",
                      json_text_or_null(finding->text), "reason",
                      json_text_or_null(finding->reason), "mend", json_text_or_null(finding->mend),
                      "mend_is_command", finding->mend && !finding->advice, "data", finding->data));
    json_print_taken(json_pack("{s:s, s:b, s:o*, s:b, s:o}", "version", TARE_VERSION,
                               "kernel_backed", page->kernel_backed, "layers", json_string(layers),
                               "fit", doctor_fit(page), "checks", checks),
                     out);
}
