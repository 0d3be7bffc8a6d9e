#include "run/observers/ranks.h"

#include "base/text.h"
#include "run/aftermath.h"
#include "run/lane.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_TAIL = 64 << 10, LINES_NEAR = 20, RANKS_MAX = 100000 };

static size_t parse_rank_count(const char *text)
{
    char *end;
    unsigned long count = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    return count > 0 && *end == '\0' && count <= RANKS_MAX ? count : 1;
}

size_t ranks_count(const struct strv *argv)
{
    static const char *const options[] = {"--nproc_per_node",
                                          "--nproc-per-node",
                                          "--num_processes",
                                          "--num-processes",
                                          "--num_gpus",
                                          "-np",
                                          "-n",
                                          NULL};
    bool launched = false;
    for (size_t i = 0; i < argv->count && !text_ends_with(argv->items[i], ".py"); i++) {
        const char *word = argv->items[i];
        const char *slash = strrchr(word, '/');
        launched = launched || strstr(slash ? slash + 1 : word, "mpi") ||
                   strcmp(word, "srun") == 0 || text_ends_with(word, "/srun") ||
                   text_ends_with(word, "horovodrun");
        for (size_t k = 0; options[k]; k++) {
            size_t length = strlen(options[k]);
            if (strncmp(word, options[k], length) != 0 || (options[k][1] != '-' && !launched))
                continue;
            if (word[length] == '=')
                return parse_rank_count(word + length + 1);
            if (word[length] == '\0' && i + 1 < argv->count)
                return parse_rank_count(argv->items[i + 1]);
        }
    }
    return 1;
}

struct line_span {
    const char *at;
    size_t length;
};

static size_t rank_number_length(const char *at, const char *end)
{
    size_t length = 0;
    while (at + length < end &&
           (isdigit((unsigned char)at[length]) || (length && strchr(".eE", at[length])) ||
            (length && (at[length] == '-' || at[length] == '+') && strchr("eE", at[length - 1]))))
        length++;
    return length;
}

/* Equal except for numbers with a point, of which one differs. */
static bool differ_in_values(struct line_span one, struct line_span other)
{
    const char *a = one.at, *b = other.at, *a_end = a + one.length, *b_end = b + other.length;
    bool differs = false;
    while (a < a_end && b < b_end) {
        size_t a_length = rank_number_length(a, a_end), b_length = rank_number_length(b, b_end);
        if (a_length == 0 || b_length == 0) {
            if (*a++ != *b++)
                return false;
            continue;
        }
        bool same = a_length == b_length && memcmp(a, b, a_length) == 0;
        if (!same && !memchr(a, '.', a_length) && !memchr(b, '.', b_length))
            return false;
        differs = differs || !same;
        a += a_length;
        b += b_length;
    }
    return differs && a == a_end && b == b_end;
}

/* False: none left. */
static bool previous_line(const char *log, const char *end, struct line_span *out)
{
    if (end <= log)
        return false;
    const char *start = end - 1;
    while (start > log && start[-1] != '\n' && start[-1] != '\r')
        start--;
    *out = (struct line_span){start, (size_t)(end - 1 - start)};
    return true;
}

bool ranks_disagree(const char *log, size_t length, const char *number)
{
    struct line_span last = {0}, line;
    size_t digits = strlen(number);
    const char *end = log + length + (length && log[length - 1] != '\n' && log[length - 1] != '\r');
    if (digits == 0)
        return false;
    for (size_t near = 0; near < LINES_NEAR && previous_line(log, end, &line); end = line.at) {
        if (last.at && differ_in_values(last, line))
            return true;
        near += last.at != NULL;
        if (!last.at && memmem(line.at, line.length, number, digits))
            last = line;
    }
    return false;
}

static json_t *note_ranks(struct lane *lane)
{
    AUTO_TEXT struct text tail = {0};
    const struct attempt *attempt = &lane->attempt;
    size_t ranks = ranks_count(&attempt->plan->argv);
    if (lane->outcome != OUTCOME_SUCCEEDED || ranks < 2 || !attempt->log ||
        !aftermath_log_tail(attempt->folder, "training.log", LOG_TAIL, &tail))
        return NULL;
    for (size_t i = 0; i < joblog_result_count(attempt->log); i++) {
        const struct joblog_result *result = joblog_result(attempt->log, i);
        if (result->role == JOBLOG_METRIC && result->has_number &&
            ranks_disagree(text_get(&tail), tail.length, result->text))
            lane_note(lane,
                      "%s: %zu processes were started, and lines near the end of the log differ in "
                      "their values alone: that of the last line, %s, may be of another process "
                      "than the first; print it in one process, or label lines (torchrun --tee 3)",
                      result->name, ranks, result->text);
    }
    return NULL;
}

const struct observer ranks_observer = {.end = note_ranks};
