/* Any bytes through the parser of mark lines, the limits and the cutting: the first byte says how
 * far apart lines come. What is parsed reads back from how it would be written; the parts of each
 * name fill the attempt without gap or overlap. */
#include "fuzz.h"
#include "measure/marks/epochs.h"

#include <stdio.h>

#define START_NS INT64_C(5000000000)

static void check_mark(const struct mark *mark, int64_t now_ns)
{
    char line[MARK_LINE_MAX + 8];
    struct mark back;
    check(mark_name_is_valid(mark->name) && strlen(mark->label) <= MARK_LABEL_MAX);
    check(mark->t_ns <= now_ns && mark->t_ns >= now_ns - MARK_CLOCK_BACK_NS &&
          mark->source == MARK_FIFO);
    int length = snprintf(line, sizeof line, "%s%s %s @%lld", mark->is_end ? "/" : "", mark->name,
                          mark->label, (long long)mark->t_ns);
    check(length > 0 && (size_t)length < sizeof line);
    check(mark_line_parse(line, (size_t)length, now_ns, &back));
    check(strcmp(back.name, mark->name) == 0 && strcmp(back.label, mark->label) == 0);
    check(back.is_end == mark->is_end && back.t_ns == mark->t_ns);
}

static void check_epochs(struct marks *marks, int64_t end_ns, bool has_end)
{
    size_t count = 0, whole = 0;
    struct epoch *epochs =
        epochs_cut(marks->pending, marks->pending_count, START_NS, end_ns, has_end, &count);
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(epochs[i - 1].name, epochs[i].name) != 0;
        bool last = i + 1 == count || strcmp(epochs[i + 1].name, epochs[i].name) != 0;
        check(epochs[i].start_ns == (first ? START_NS : epochs[i - 1].end_ns));
        check(epochs[i].has_end == (has_end || !last));
        check(!epochs[i].has_end || epochs[i].end_ns >= epochs[i].start_ns);
        check(!last || !has_end || epochs[i].end_ns == end_ns);
        whole += epochs[i].part == EPOCH_ITSELF;
    }
    check(whole <= marks->pending_count && (whole > 0) == (marks->pending_count > 0));
    free(epochs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    int64_t now_ns = START_NS, step_ns = (int64_t)data[0] * 10000000;
    struct marks *marks = calloc(1, sizeof *marks);
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    uint64_t parsed = 0;
    while (marks && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        /* of its exact size, so that one byte too far is seen */
        char *line = malloc(length ? length : 1);
        if (!line)
            break;
        struct mark mark;
        memcpy(line, at, length);
        if (mark_line_parse(line, length, now_ns, &mark)) {
            check_mark(&mark, now_ns);
            marks_take(marks, &mark, now_ns);
            parsed++;
        }
        free(line);
        now_ns += step_ns;
        at = stop ? stop + 1 : end;
    }
    if (marks) {
        check(marks->counts.taken + marks->counts.repeated + marks->counts.limited == parsed);
        check(marks->counts.taken == marks->pending_count && marks->name_count <= MARKS_NAMES_MAX);
        check_epochs(marks, now_ns, true);
        check_epochs(marks, 0, false);
        marks_fini(marks);
    }
    free(marks);
    return 0;
}
