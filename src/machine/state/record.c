#include "machine/state/record.h"
#include "base/json_print.h"
#include "machine/contain/job.h"

#include "base/mem.h"
#include "machine/state/census.h"
#include "tare_build.h"

#include <limits.h>
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

/* Takes line. */
static void add_record_line(struct text *out, json_t *line)
{
    json_print(line, out);
    text_add_char(out, '\n');
    json_decref(line);
}

/* A path that is no UTF-8 (it is only shown) becomes null. */
void record_add_header(struct text *out, const struct record_header *header)
{
    add_record_line(out, json_pack("{s:s, s:o, s:o, s:s, s:i, s:I, s:I, s:s}", "kind",
                                   kind_names[header->kind], "run_dir",
                                   json_text_or_null(header->run_dir), "host",
                                   json_text_or_null(header->host), "boot_id", header->boot_id,
                                   "pid", (int)header->pid, "start_time",
                                   (json_int_t)header->start_time, "pid_namespace",
                                   (json_int_t)header->pid_namespace, "version", TARE_VERSION));
}

void record_add_born(struct text *out, const struct job_identity *identity)
{
    add_record_line(out, json_pack("{s:s, s:i, s:I, s:s, s:o, s:o}", "job", "born", "pid",
                                   (int)identity->pid, "start_time",
                                   (json_int_t)identity->start_time, "boot_id", identity->boot_id,
                                   "cgroup", json_text_or_null(identity->cgroup), "tag",
                                   json_text_or_null(identity->tag)));
}

void record_add_gone(struct text *out, const struct job_identity *identity)
{
    add_record_line(
        out, json_pack("{s:s, s:o}", "job", "gone", "tag", json_text_or_null(identity->tag)));
}

static bool get_count(const json_t *line, const char *key, uint64_t max, uint64_t *out)
{
    json_int_t number;
    if (!json_get_int(line, key, &number) || number < 0 || (uint64_t)number > max)
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool get_boot_id(const json_t *line, char out[40])
{
    const char *text = json_get_text(line, "boot_id");
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length >= 40)
        return false;
    memcpy(out, text, length + 1);
    return true;
}

static bool parse_header_line(struct record *record, const json_t *line)
{
    struct record_header header = {0};
    const char *kind = json_get_text(line, "kind"), *host = json_get_text(line, "host");
    const char *run_dir = json_get_text(line, "run_dir");
    uint64_t pid;
    if (!kind || !host || !get_boot_id(line, header.boot_id) ||
        !get_count(line, "pid", INT_MAX, &pid) ||
        !get_count(line, "start_time", INT64_MAX, &header.start_time) ||
        !get_count(line, "pid_namespace", INT64_MAX, &header.pid_namespace))
        return false;
    header.kind = strcmp(kind, kind_names[STATE_EXEC]) == 0 ? STATE_EXEC : STATE_RUN;
    header.pid = (pid_t)pid;
    /* Both are only shown, and must not steer a terminal. */
    header.host = census_command_text(host, strlen(host));
    header.run_dir = run_dir ? census_command_text(run_dir, strlen(run_dir)) : NULL;
    record->header = header;
    record->has_header = true;
    return true;
}

static const char *get_tag(const json_t *line)
{
    const char *tag = json_get_text(line, "tag");
    return tag && tag[0] && strlen(tag) <= TAG_MAX ? tag : NULL;
}

static bool parse_born_line(struct record *record, const json_t *line)
{
    struct job_identity identity = {0};
    const char *tag = get_tag(line), *cgroup = json_get_text(line, "cgroup");
    uint64_t pid;
    if (!tag || !get_boot_id(line, identity.boot_id) || !get_count(line, "pid", INT_MAX, &pid) ||
        pid == 0 || !get_count(line, "start_time", INT64_MAX, &identity.start_time) ||
        (cgroup && cgroup[0] != '/'))
        return false;
    identity.pid = (pid_t)pid;
    identity.tag = mem_strdup(tag);
    identity.cgroup = mem_strdup(cgroup);
    MEM_ADD(record->jobs, record->count) = identity;
    return true;
}

static bool parse_gone_line(struct record *record, const json_t *line)
{
    const char *tag = get_tag(line);
    if (!tag)
        return false;
    for (size_t i = 0; i < record->count; i++) {
        if (strcmp(record->jobs[i].tag, tag) != 0)
            continue;
        job_identity_fini(&record->jobs[i]);
        record->jobs[i] = record->jobs[--record->count];
        break;
    }
    return true;
}

static bool parse_record_line(struct record *record, const json_t *line)
{
    const char *job = json_get_text(line, "job");
    if (!job)
        return !record->has_header && parse_header_line(record, line);
    if (strcmp(job, "born") == 0)
        return parse_born_line(record, line);
    return strcmp(job, "gone") == 0 && parse_gone_line(record, line);
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
