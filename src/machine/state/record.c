#include "machine/state/record.h"
#include "base/json_print.h"
#include "machine/contain/job.h"

#include "base/mem.h"
#include "base/record.h"
#include "machine/state/census.h"
#include "tare_build.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

enum { TAG_MAX = 79 };

static const char *const kind_names[] = {"run", "exec"};

bool record_header_own(enum state_kind kind, const char *run_dir, struct record_header *out,
                       struct err *err)
{
    struct utsname host = {0};
    struct stat namespace;
    uname(&host);
    *out = (struct record_header){.kind = kind, .pid = getpid()};
    if (!boot_id_read(out->boot_id, err))
        return false;
    if (!process_start_time(out->pid, &out->start_time))
        return err_set(err, "/proc does not show this process");
    if (stat("/proc/self/ns/pid", &namespace) != 0)
        return err_sys(err, "stat /proc/self/ns/pid");
    out->pid_namespace = namespace.st_ino;
    out->run_dir = mem_strdup(run_dir);
    out->host = mem_strdup(host.nodename);
    return true;
}

void record_header_fini(struct record_header *header)
{
    free(header->run_dir);
    free(header->host);
    *header = (struct record_header){0};
}

#define HEADER(member) RECORD(struct record_header, member)
/* A path of invalid UTF-8 (it is only shown) becomes null. */
static const struct record_field header_fields[] = {
    HEADER(run_dir),
    HEADER(host),
    RECORD_CHARS(struct record_header, "boot_id", boot_id),
    HEADER(pid),
    HEADER(start_time),
    HEADER(pid_namespace),
    {0}};

#define JOB(member) RECORD(struct job_identity, member)
static const struct record_field tag_fields[] = {JOB(tag), {0}};
static const struct record_field job_fields[] = {
    JOB(pid),
    JOB(start_time),
    RECORD_CHARS(struct job_identity, "boot_id", boot_id),
    JOB(cgroup),
    {0}};

/* Takes line. */
static void add_record_line(struct text *out, json_t *line)
{
    json_print(line, out);
    text_add_char(out, '\n');
    json_decref(line);
}

void record_add_header(struct text *out, const struct record_header *header)
{
    json_t *line = json_pack("{s:s}", "kind", kind_names[header->kind]);
    record_set(line, header_fields, header);
    json_set_text(line, "version", TARE_VERSION);
    add_record_line(out, line);
}

void record_add_born(struct text *out, const struct job_identity *identity)
{
    json_t *line = json_pack("{s:s}", "job", "born");
    record_set(line, job_fields, identity);
    record_set(line, tag_fields, identity);
    add_record_line(out, line);
}

void record_add_gone(struct text *out, const struct job_identity *identity)
{
    json_t *line = json_pack("{s:s}", "job", "gone");
    record_set(line, tag_fields, identity);
    add_record_line(out, line);
}

/* Takes text. It is only shown, and must not steer a terminal. */
static char *shown_text(char *text)
{
    char *shown = text ? census_command_text(text, strlen(text)) : NULL;
    free(text);
    return shown;
}

/* A missing number keeps a value out of bounds. */

static bool parse_header_line(struct record *record, const json_t *line, const char *kind)
{
    struct record_header header = {
        .pid = -1, .start_time = UINT64_MAX, .pid_namespace = UINT64_MAX};
    record_get(header_fields, line, &header);
    if (!kind || !header.host || !*header.boot_id || header.pid < 0 ||
        header.start_time > INT64_MAX || header.pid_namespace > INT64_MAX) {
        record_header_fini(&header);
        return false;
    }
    header.kind = strcmp(kind, kind_names[STATE_EXEC]) == 0 ? STATE_EXEC : STATE_RUN;
    header.host = shown_text(header.host);
    header.run_dir = shown_text(header.run_dir);
    record->header = header;
    record->has_header = true;
    return true;
}

static void remove_job(struct record *record, const char *tag)
{
    for (size_t i = 0; i < record->count; i++)
        if (strcmp(record->jobs[i].tag, tag) == 0) {
            job_identity_fini(&record->jobs[i]);
            record->jobs[i] = record->jobs[--record->count];
            return;
        }
}

static bool parse_job_line(struct record *record, const json_t *line, const char *job)
{
    struct job_identity identity = {.pid = -1, .start_time = UINT64_MAX};
    record_get(tag_fields, line, &identity);
    record_get(job_fields, line, &identity);
    const char *tag = identity.tag;
    bool has_tag = tag && *tag && strlen(tag) <= TAG_MAX, gone = strcmp(job, "gone") == 0;
    if (has_tag && strcmp(job, "born") == 0 && *identity.boot_id && identity.pid > 0 &&
        identity.start_time <= INT64_MAX && (!identity.cgroup || identity.cgroup[0] == '/')) {
        MEM_ADD(record->jobs, record->count) = identity;
        return true;
    }
    if (has_tag && gone)
        remove_job(record, tag);
    job_identity_fini(&identity);
    return has_tag && gone;
}

struct line_kind {
    const char *kind, *job; /* job: NULL: of the header */
};

static bool parse_record_line(struct record *record, const json_t *line)
{
    static const struct record_field fields[] = {
        RECORD(struct line_kind, kind), RECORD(struct line_kind, job), {0}};
    struct line_kind of = {0};
    record_get(fields, line, &of);
    return of.job ? parse_job_line(record, line, of.job)
                  : !record->has_header && parse_header_line(record, line, of.kind);
}

void record_parse(const char *bytes, size_t count, struct record *out)
{
    const char *end = bytes + count;
    *out = (struct record){0};
    for (const char *at = bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return; /* the writer died in the middle of it, before what it speaks of could begin */
        json_t *line = json_loadb(at, (size_t)(newline - at), JSON_REJECT_DUPLICATES, NULL);
        if (!line || !parse_record_line(out, line))
            out->damaged++;
        json_decref(line);
        at = newline + 1;
    }
}

void record_fini(struct record *record)
{
    EACH (job, record->jobs, record->count)
        job_identity_fini(job);
    free(record->jobs);
    record_header_fini(&record->header);
    *record = (struct record){0};
}
