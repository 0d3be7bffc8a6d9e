/* Any pattern over any bytes, cut anywhere: first line the pattern, second line the sizes of the
 * chunks, the rest the log. The joblog must find what matching each line alone finds, and metrics
 * by their names wherever the log is cut. */
#include "base/pattern/pattern.h"
#include "run/log/joblog.h"
#include "run/log/rank.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_LENGTH_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct expected {
    uint64_t newlines, lines, matches, marks, last, limited; /* lines: as grep -n counts them */
};

/* Every line that matched, in order and at the time it was complete. */
static void count_mark(void *context, const struct mark *mark)
{
    uint64_t *count = context;
    if (strlen(mark->label) > MARK_LABEL_MAX || strcmp(mark->name, "m") != 0)
        abort();
    ++*count;
}

static const char *split(const char *bytes, size_t size)
{
    const char *end = memchr(bytes, '\n', size);
    return end ? end : bytes + size;
}

static void expect_line(struct pattern *pattern, const char *line, size_t length,
                        struct expected *expected)
{
    struct pattern_match match =
        pattern_find(pattern, line, length < JOBLOG_LINE_MAX ? length : JOBLOG_LINE_MAX);
    expected->limited += match.limited;
    expected->marks += match.matched;
    /* a metric is that of the first rank (tests/unit/run/log/rank_test.c has the labels) */
    if (!match.matched || rank_is_other(line, length))
        return;
    expected->matches++;
    expected->last = expected->newlines + 1;
}

static struct expected expect(struct pattern *pattern, const char *bytes, size_t size)
{
    struct expected expected = {0};
    size_t start = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\r')
            continue;
        expect_line(pattern, bytes + start, i - start, &expected);
        if (bytes[i] == '\r' && i + 1 < size && bytes[i + 1] == '\n')
            i++;
        start = i + 1;
        expected.newlines += bytes[i] == '\n';
    }
    if (start < size)
        expect_line(pattern, bytes + start, size - start, &expected);
    expected.lines = expected.newlines + (size > 0 && bytes[size - 1] != '\n');
    return expected;
}

static void feed(struct joblog *log, const char *bytes, size_t size, const char *chunks,
                 size_t chunk_count)
{
    for (size_t at = 0, i = 0; at < size; i++) {
        size_t count = chunk_count ? 1 + (unsigned char)chunks[i % chunk_count] % 64 : size;
        if (count > size - at)
            count = size - at;
        if (!joblog_add_bytes(log, bytes + at, count, (int64_t)at, NULL))
            abort();
        at += count;
    }
    if (!joblog_end(log, (int64_t)size, NULL))
        abort();
}

/* The number of each of these metrics in the log. */
enum { NAMED = 3 };

static void find_named(const char *bytes, size_t size, const char *chunks, size_t chunk_count,
                       struct joblog_result out[NAMED])
{
    static const struct joblog_pattern wanted[NAMED] = {
        {JOBLOG_METRIC, "a", "named: loss, train_loss"},
        {JOBLOG_METRIC, "b", "named: accuracy, f1"},
        {JOBLOG_METRIC, "c", "named: val_loss, test_loss"}};
    struct joblog *log = joblog_new(
        &(struct joblog_options){
            .log_fd = -1, .times_fd = -1, .patterns = wanted, .pattern_count = NAMED},
        NULL);
    if (!log)
        abort();
    feed(log, bytes, size, chunks, chunk_count);
    for (size_t i = 0; i < NAMED; i++)
        out[i] = *joblog_result(log, i);
    joblog_free(log);
}

static void compare_named(const char *bytes, size_t size, const char *chunks, size_t chunk_count)
{
    struct joblog_result whole[NAMED], cut[NAMED];
    find_named(bytes, size, NULL, 0, whole);
    find_named(bytes, size, chunks, chunk_count, cut);
    for (size_t i = 0; i < NAMED; i++)
        if (whole[i].has_number != cut[i].has_number || whole[i].matches != cut[i].matches ||
            (whole[i].has_number &&
             memcmp(&whole[i].number, &cut[i].number, sizeof whole[i].number) != 0) ||
            strcmp(whole[i].text, cut[i].text) != 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data, *end = bytes + size;
    const char *pattern_end = split(bytes, size);
    size_t length = (size_t)(pattern_end - bytes);
    if (length > PATTERN_LENGTH_MAX || pattern_end == end || memchr(bytes, '\0', length))
        return 0;
    const char *chunks = pattern_end + 1, *chunks_end = split(chunks, (size_t)(end - chunks));
    const char *log_bytes = chunks_end == end ? end : chunks_end + 1;
    char source[PATTERN_LENGTH_MAX + 1];
    memcpy(source, bytes, length);
    source[length] = '\0';
    /* The name of a printed metric, no regular expression: compare_named checks those. */
    if (strncmp(source, "named:", strlen("named:")) == 0)
        return 0;
    struct pattern *pattern = pattern_new(source, NULL);
    struct joblog_pattern wanted[] = {{JOBLOG_METRIC, "m", source},
                                      {JOBLOG_MARK_START, "m", source}};
    uint64_t marks = 0;
    struct joblog *log = joblog_new(&(struct joblog_options){.log_fd = -1,
                                                             .times_fd = -1,
                                                             .patterns = wanted,
                                                             .pattern_count = 2,
                                                             .mark = count_mark,
                                                             .context = &marks},
                                    NULL);
    if (!pattern != !log)
        abort();
    if (log) {
        size_t log_size = (size_t)(end - log_bytes);
        struct expected expected = expect(pattern, log_bytes, log_size);
        feed(log, log_bytes, log_size, chunks, (size_t)(chunks_end - chunks));
        const struct joblog_result *result = joblog_result(log, 0);
        if (joblog_totals(log).lines != expected.lines || joblog_totals(log).bytes != log_size)
            abort();
        /* a limit (of steps, or of the joblog's time budget) may end one search and not the
         * other */
        if (expected.limited == 0 && joblog_totals(log).limited_lines == 0 &&
            (result->matches != expected.matches || result->line != expected.last ||
             marks != expected.marks))
            abort();
        if (marks != joblog_result(log, 1)->matches)
            abort();
    }
    joblog_free(log);
    pattern_free(pattern);
    compare_named(log_bytes, (size_t)(end - log_bytes), chunks, (size_t)(chunks_end - chunks));
    return 0;
}
