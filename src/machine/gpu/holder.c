#include "machine/gpu/holder.h"
#include "base/json_print.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char cut_mark[] = "...";

/* Whole characters only; the end of a path says more than its beginning. */
static void copy_printable_text(char *out, const char *text, bool keep_end)
{
    AUTO_TEXT struct text clean = {0};
    utf8_add_printable(text, strlen(text), "", &clean);
    const char *from = text_get(&clean);
    size_t room = GPU_HOLDER_TEXT_SIZE - 1, count = clean.length;
    bool cut = count > room;
    if (cut && keep_end) {
        room -= sizeof cut_mark - 1;
        from += count - room;
        for (count = room; ((unsigned char)*from & 0xC0) == 0x80; from++)
            count--;
        memcpy(out, cut_mark, sizeof cut_mark - 1);
        out += sizeof cut_mark - 1;
    } else if (cut) {
        count = utf8_cut(from, count, room);
    }
    memcpy(out, from, count);
    out[count] = '\0';
}

void gpu_holder_set_run(struct gpu_holder *holder, const char *run)
{
    copy_printable_text(holder->run, run, true);
}

void gpu_holder_self(struct gpu_holder *out)
{
    char host[HOST_NAME_MAX + 1] = "";
    struct stat pid_namespace;
    const struct passwd *user = getpwuid(geteuid());
    AUTO_FREE char *number = mem_printf("%u", (unsigned)geteuid());
    *out = (struct gpu_holder){.pid = getpid(), .since_s = clock_realtime_ns() / NS_PER_S};
    if (stat("/proc/self/ns/pid", &pid_namespace) == 0)
        out->pid_namespace = (uint64_t)pid_namespace.st_ino;
    gethostname(host, sizeof host - 1);
    copy_printable_text(out->host, host, false);
    copy_printable_text(out->user, user ? user->pw_name : number, false);
}

bool gpu_holder_same(const struct gpu_holder *a, const struct gpu_holder *b)
{
    return a->pid && a->start_time && a->pid_namespace && a->pid == b->pid &&
           a->start_time == b->start_time && a->pid_namespace == b->pid_namespace;
}

void gpu_holder_print_names(const struct gpu_holder *holders, size_t count, struct text *out)
{
    for (size_t i = 0; i < count; i++)
        text_addf(out, "%s%d:%" PRIu64 ":%" PRIu64, i ? "," : "", (int)holders[i].pid,
                  holders[i].start_time, holders[i].pid_namespace);
}

/* Digits only, 1 to most. *at moves past them and past the byte that follows, which must be end. */
static bool parse_holder_number(const char **at, char end, int64_t most, int64_t *out)
{
    const char *from = *at;
    int64_t number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        int digit = **at - '0';
        if (number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out = number;
    if (*at == from || number == 0 || (**at != end && !(end == ',' && !**at)))
        return false;
    *at += **at != '\0';
    return true;
}

size_t gpu_holder_parse_names(const char *text, struct gpu_holder *out, size_t max)
{
    size_t count = 0;
    int64_t pid, start_time, pid_namespace;
    while (*text && count < max && parse_holder_number(&text, ':', INT_MAX, &pid) &&
           parse_holder_number(&text, ':', INT64_MAX, &start_time) &&
           parse_holder_number(&text, ',', INT64_MAX, &pid_namespace))
        out[count++] = (struct gpu_holder){.pid = (pid_t)pid,
                                           .start_time = (uint64_t)start_time,
                                           .pid_namespace = (uint64_t)pid_namespace};
    return count;
}

void gpu_holder_print(const struct gpu_holder *holder, struct text *out)
{
    json_t *json = json_pack(
        "{s:i, s:I, s:I, s:I, s:o, s:o, s:o}", "pid", (int)holder->pid, "start_time",
        (json_int_t)holder->start_time, "pid_namespace", (json_int_t)holder->pid_namespace, "since",
        (json_int_t)holder->since_s, "user", json_text_or_null(holder->user), "host",
        json_text_or_null(holder->host), "run", json_text_or_null(holder->run));
    json_print(json, out);
    text_add_char(out, '\n');
    json_decref(json);
}

static int64_t positive(const json_t *json, const char *key, int64_t most)
{
    json_int_t number = 0;
    return json_get_int(json, key, &number) && number > 0 && number <= most ? number : 0;
}

static void copy_holder_text(const json_t *json, const char *key, char *out, bool keep_end)
{
    const char *text = json_get_text(json, key);
    if (text)
        copy_printable_text(out, text, keep_end);
}

bool gpu_holder_parse(const char *bytes, size_t count, struct gpu_holder *out)
{
    const char *newline = count ? memchr(bytes, '\n', count) : NULL;
    *out = (struct gpu_holder){0};
    if (!newline)
        return false;
    json_t *json = json_loadb(bytes, (size_t)(newline - bytes), JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(json);
    if (good) {
        out->pid = (pid_t)positive(json, "pid", INT_MAX);
        out->start_time = (uint64_t)positive(json, "start_time", INT64_MAX);
        out->pid_namespace = (uint64_t)positive(json, "pid_namespace", INT64_MAX);
        out->since_s = positive(json, "since", INT64_C(253402300799)); /* the year 9999 */
        copy_holder_text(json, "user", out->user, false);
        copy_holder_text(json, "host", out->host, false);
        copy_holder_text(json, "run", out->run, true);
    }
    json_decref(json);
    return good;
}
