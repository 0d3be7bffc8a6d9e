#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/line.h"
#include "gpu_memory/oom/message.h"
#include "gpu_memory/oom/traceback.h"

#include "base/ascii.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECE_MAX = 4096, /* of a line: what is longer comes in several */
    TAIL_MAX = 47,    /* of the text before: no phrase is longer */
    BODY_MAX = 16384, /* of a message */
    LINES_MAX = 300,
    IDLE_MAX = 6, /* lines that add nothing: the message has ended */
    SOURCES_MAX = 32,
    ESCAPE_MAX = 256, /* a terminal's sequence that never ends is none */
    LEAD_MAX = 200,
    TRACEBACK_MAX = 60, /* lines from a frame to the message */
    SAME_MAX = 30,      /* lines between two parts of one failure */
    HOST_MAX = 200,     /* of the host: the kernel lists all processes in between */
    DUMP_MAX = 2000,    /* lines of TensorFlow's allocator between them */
    LATER_MAX = 12,     /* lines from a message to the traceback that belongs to it */
    BUCKETS = 1024,     /* of phrases, by their first two bytes */
};

enum escape { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_CONTROL, ESCAPE_TITLE, ESCAPE_TITLE_END };

struct phrase {
    char text[TAIL_MAX + 1]; /* without blanks */
    size_t length;
    const struct oom_phrase *row;
};

struct source {
    char name[OOM_SOURCE_SIZE];
    uint64_t used; /* line: the one that was silent for longest makes room */
    char tail[TAIL_MAX];
    size_t tail_length;
    int64_t epoch; /* the last named; -1: none */
    enum oom_setting expandable;
    struct printed printed;
    enum oom_origin origin;
    uint64_t origin_line;
    uint64_t traceback_line; /* of the last "Traceback"; 0: none */
    struct traceback traceback;
    bool is_placed; /* the message's place is known, and not by a traceback after it */
    enum oom_framework program;
    uint64_t program_line; /* of the log: the last that the program printed */
    bool is_quoting;       /* an indented block that documentation quotes */
    struct message_stats stats;
    bool open;
    bool closed;    /* the message has ended and is not reported: what follows may say more of it */
    bool is_traced; /* a traceback is in front of it: it ended the program */
    unsigned later_epochs; /* lines after it that name an epoch */
    struct text body;      /* without blanks */
    size_t scanned;
    unsigned lines, idle;
    struct oom message;
};

struct oom_finder {
    oom_found_fn *found;
    void *context;
    struct phrase phrases[OOM_PHRASES_MAX];
    size_t phrase_count;
    int16_t buckets[BUCKETS];      /* the first phrase of each; -1: none */
    int16_t next[OOM_PHRASES_MAX]; /* in the order of the table */
    struct source *sources[SOURCES_MAX];
    size_t source_count;
    struct source *source; /* of the line that is being read; NULL: it begins */
    uint64_t line;         /* from 1 */
    bool any;              /* bytes of it came */
    enum escape escape;
    size_t escape_length;
    char piece[PIECE_MAX];
    size_t length;
};

/* A piece without its blanks, behind the tail of what came before it. */
struct window {
    char text[TAIL_MAX + PIECE_MAX];
    size_t length, tail; /* tail: where the piece begins */
    const char *raw;     /* the piece as it stands */
    size_t raw_length;
    bool begins, ends; /* the line */
};

struct hit {
    size_t begin, end; /* in the window; end 0: none */
    const struct oom_phrase *row;
};

static bool is_removed_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
}

static unsigned bucket_of(const char *text)
{
    return ((unsigned)(unsigned char)text[0] * 37 + (unsigned char)text[1]) % BUCKETS;
}

/* From the last on, so that an earlier phrase comes first. */
static void fill_buckets(struct oom_finder *finder)
{
    memset(finder->buckets, -1, sizeof finder->buckets);
    for (size_t i = finder->phrase_count; i-- > 0;) {
        int16_t *bucket = &finder->buckets[bucket_of(finder->phrases[i].text)];
        finder->next[i] = *bucket;
        *bucket = (int16_t)i;
    }
}

struct oom_finder *oom_finder_new(oom_found_fn *found, void *context)
{
    struct oom_finder *finder = mem_alloc(sizeof *finder);
    finder->found = found;
    finder->context = context;
    finder->line = 1;
    for (const struct oom_phrase *from = oom_phrases; from->text; from++) {
        struct phrase *phrase = &finder->phrases[finder->phrase_count++];
        phrase->row = from;
        for (const char *c = from->text; *c; c++)
            if (!is_removed_blank(*c))
                phrase->text[phrase->length++] = *c;
    }
    fill_buckets(finder);
    return finder;
}

void oom_finder_free(struct oom_finder *finder)
{
    if (!finder)
        return;
    EACH (source, finder->sources, finder->source_count) {
        text_fini(&(*source)->body);
        free(*source);
    }
    free(finder);
}

static void close_message(struct source *source)
{
    if (!source->open)
        return;
    source->open = false;
    message_scan(text_get(&source->body), source->body.length, &source->scanned, &source->message);
    source->closed = message_end(text_get(&source->body), source->body.length, &source->message);
}

static void report_message(struct oom_finder *finder, struct source *source)
{
    close_message(source);
    if (source->closed)
        finder->found(finder->context, &source->message);
    source->closed = false;
}

static struct source *source_for(struct oom_finder *finder, const char *name)
{
    struct source *oldest = NULL;
    EACH (item, finder->sources, finder->source_count) {
        struct source *source = *item;
        if (strcmp(source->name, name) == 0)
            return source;
        if (!oldest || source->used < oldest->used)
            oldest = source;
    }
    if (finder->source_count < SOURCES_MAX) {
        oldest = finder->sources[finder->source_count++] = mem_alloc(sizeof *oldest);
    } else {
        report_message(finder, oldest);
        text_fini(&oldest->body);
        *oldest = (struct source){0};
    }
    strcpy(oldest->name, name);
    oldest->epoch = -1;
    return oldest;
}

/* "- Free: ..." and "> quoted": the sign is left out, and parts the words before from those
 * behind. */
static size_t skip_bullet(const char *raw, size_t length, char *sign)
{
    size_t i = 0;
    *sign = '\0';
    while (i < length && (is_removed_blank(raw[i]) || raw[i] == '>' || raw[i] == '|'))
        i++;
    bool ascii = i + 1 < length && strchr("-*+", raw[i]) && raw[i] && is_removed_blank(raw[i + 1]);
    bool wide = i + 2 < length && (memcmp(raw + i, "\xe2\x80\xa2", 3) == 0 ||
                                   memcmp(raw + i, "\xe2\x80\x93", 3) == 0);
    if (ascii || wide)
        *sign = ';';
    return i + (ascii ? 1 : wide ? 3 : 0);
}

static void fill_window(const struct source *source, const char *raw, size_t length, bool begins,
                        struct window *out)
{
    memcpy(out->text, source->tail, source->tail_length);
    out->length = out->tail = source->tail_length;
    out->raw = raw;
    out->raw_length = length;
    out->begins = begins;
    char sign = '\0';
    size_t i = begins ? skip_bullet(raw, length, &sign) : 0;
    if (sign)
        out->text[out->length++] = sign;
    for (; i < length; i++)
        if (!is_removed_blank(raw[i]) && raw[i] != '*' && raw[i] != '`')
            out->text[out->length++] = raw[i];
}

/* Nothing but a number may follow in the line. */
static bool ends_line(const struct window *window, size_t end)
{
    while (end < window->length && ascii_is_digit(window->text[end]))
        end++;
    return window->ends && end == window->length;
}

/* "line28:8144": bash prints it in front of "Killed" where a script ran the program. */
static bool is_alone(const struct window *window, const struct hit *hit)
{
    size_t i = hit->begin;
    while (i > 0 && ascii_is_digit(window->text[i - 1]))
        i--;
    bool in_script = i < hit->begin && i > 1 && window->text[i - 1] == ':' &&
                     ascii_is_digit(window->text[i - 2]);
    /* "[1]+  Killed": a shell's job */
    bool is_job = i == hit->begin && i > 1 &&
                  (window->text[i - 1] == ']' || memcmp(window->text + i - 2, "]+", 2) == 0);
    bool first = window->begins && hit->begin == window->tail;
    return is_job || in_script || (first && window->ends && hit->end == window->length);
}

/* "2048to1024" */
static bool falls_after(const struct window *window, size_t at)
{
    int64_t numbers[2] = {0};
    for (int i = 0; i < 2; i++) {
        size_t digits = 0;
        for (; at < window->length && digits < 9 && ascii_is_digit(window->text[at]);
             at++, digits++)
            numbers[i] = numbers[i] * 10 + (window->text[at] - '0');
        if (digits == 0)
            return false;
        if (i == 0 && (window->length - at < 2 || memcmp(window->text + at, "to", 2) != 0))
            return false;
        at += i == 0 ? 2 : 0;
    }
    return numbers[1] < numbers[0];
}

/* Whether the words at the hit are a message of the row's, not a part of another text. */
static bool is_message(const struct window *window, const struct hit *hit)
{
    const struct oom_phrase *row = hit->row;
    size_t lead = hit->begin < LEAD_MAX ? hit->begin : LEAD_MAX;
    const char *front = window->text + hit->begin - lead;
    if (row->flags & OOM_PHRASE_LINE && !is_alone(window, hit))
        return false;
    if (row->flags & OOM_PHRASE_FALLS && !falls_after(window, hit->end))
        return false;
    if (row->flags & OOM_PHRASE_PROSE && phrase_is_prose(window->raw, window->raw_length))
        return false;
    if (row->flags & OOM_PHRASE_END && !ends_line(window, hit->end))
        return false;
    return (!row->front || memmem(front, lead, row->front, strlen(row->front))) &&
           !phrase_is_quoted(window->text, window->length, hit->begin, hit->end) &&
           !phrase_is_advice(window->text, window->length, hit->begin, hit->end);
}

/* The first phrase from byte from on that does not lie in the tail altogether. */
static struct hit find_hit(const struct oom_finder *finder, const struct window *window,
                           size_t from)
{
    for (size_t i = from; i + 1 < window->length; i++) {
        int16_t next = finder->buckets[bucket_of(window->text + i)];
        for (; next >= 0; next = finder->next[next]) {
            const struct phrase *phrase = &finder->phrases[next];
            struct hit hit = {i, i + phrase->length, phrase->row};
            if (hit.end <= window->length && hit.end > window->tail &&
                memcmp(window->text + i, phrase->text, phrase->length) == 0 &&
                is_message(window, &hit))
                return hit;
        }
    }
    return (struct hit){0};
}

static void add_body(struct source *source, const char *words, size_t length)
{
    size_t room = BODY_MAX - source->body.length;
    text_add_bytes(&source->body, words, length < room ? length : room);
}

/* The line in ASCII, which is what frameworks write, so that no cut splits a character. */
static void copy_printable_line(const struct window *window, char out[OOM_TEXT_SIZE])
{
    size_t used = 0;
    for (size_t i = 0; i < window->raw_length && used < OOM_TEXT_SIZE - 1; i++) {
        unsigned char c = (unsigned char)window->raw[i];
        bool plain = c > ' ' && c < 0x7f;
        if (plain || (used > 0 && out[used - 1] != ' '))
            out[used++] = plain ? (char)c : c < 0x80 ? ' ' : '?';
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

static void note_traceback(struct source *source)
{
    source->message.hints |= traceback_hints(&source->traceback);
    if (!source->is_placed && source->traceback.place.file[0])
        source->message.place = source->traceback.place;
}

/* One failure of the host is reported by several programs: the kernel, a shell, a launcher. */
static bool is_same_host_failure(enum oom_cause a, enum oom_cause b)
{
    static const enum oom_cause groups[][3] = {
        {OOM_CAUSE_HOST_KILLED, OOM_CAUSE_WORKER, OOM_CAUSE_HOST_LIMIT},
        {OOM_CAUSE_DISK, OOM_CAUSE_WORKER, OOM_CAUSE_SHM}};
    EACH_OF (group, groups) {
        bool has_a = false, has_b = false;
        EACH_OF (cause, *group) {
            has_a = has_a || *cause == a;
            has_b = has_b || *cause == b;
        }
        if (has_a && has_b)
            return true;
    }
    return false;
}

/* "OOM when allocating" follows the message of TensorFlow's allocator, and comes again as an
 * exception: the same tensor. */
static bool is_same_tensor(const struct source *source, const struct window *window,
                           const struct hit *hit)
{
    static const char name[] = "withshape[";
    const char *text = window->text + hit->end;
    const char *shape = memmem(text, window->length - hit->end, name, strlen(name));
    const char *end =
        shape ? memchr(shape, ']', window->length - (size_t)(shape - window->text)) : NULL;
    if (!memmem(text_get(&source->body), source->body.length, name, strlen(name)))
        return source->message.framework == OOM_XLA;
    return end &&
           memmem(text_get(&source->body), source->body.length, shape, (size_t)(end - shape) + 1);
}

/* Whether the hit belongs to the message that is open, or not reported yet. */
static bool is_continued(const struct oom_finder *finder, const struct source *source,
                         const struct window *window, const struct hit *hit)
{
    const struct oom *message = &source->message;
    uint64_t distance = finder->line - message->last_line;
    if (!source->open && !source->closed)
        return false;
    /* The driver's own words at the end of a library's message. */
    if (hit->row->framework == OOM_CUDA)
        return message->line == finder->line && source->open && message->framework != OOM_PYTORCH &&
               message->framework != OOM_CUDA;
    if (hit->row->framework == OOM_TENSORFLOW && hit->row->cause == OOM_CAUSE_UNKNOWN &&
        (message->framework == OOM_XLA || message->framework == OOM_TENSORFLOW))
        return distance <= DUMP_MAX && is_same_tensor(source, window, hit);
    bool is_host = hit->row->kind == OOM_KIND_HOST && message->kind == OOM_KIND_HOST;
    if (distance > (is_host ? HOST_MAX : SAME_MAX))
        return false;
    if (is_host)
        return is_same_host_failure(hit->row->cause, message->cause) ||
               (hit->row->flags & OOM_PHRASE_MORE && hit->row->framework == message->framework);
    return hit->row->flags & OOM_PHRASE_MORE && hit->row->framework == message->framework;
}

static void continue_message(struct oom_finder *finder, struct source *source,
                             const struct window *window, const struct hit *hit)
{
    struct oom *message = &source->message;
    size_t lead = hit->row->flags & OOM_PHRASE_LEAD && hit->begin > window->tail
                      ? hit->begin - window->tail
                      : 0;
    source->open = true;
    source->closed = false;
    source->idle = source->lines = 0;
    message->last_line = finder->line;
    if (message->framework == OOM_XLA && hit->row->framework == OOM_TENSORFLOW)
        message->framework = OOM_TENSORFLOW;
    if (hit->row->kind == OOM_KIND_HOST && hit->row->cause > message->cause) {
        message->framework = hit->row->framework;
        copy_printable_line(window, message->text);
    }
    if (hit->row->cause > message->cause)
        message->cause = hit->row->cause;
    if (!(hit->row->flags & OOM_PHRASE_CAUGHT))
        message->went_on = false;
    message_add_stats(&source->stats, finder->line, message);
    lead = lead < LEAD_MAX ? lead : LEAD_MAX;
    add_body(source, window->text + hit->begin - lead, hit->end - hit->begin + lead);
}

/* Place and program come from the lines in front of a message. */
static void adopt_traceback(const struct oom_finder *finder, struct source *source,
                            const struct hit *hit)
{
    if (source->origin && finder->line - source->origin_line <= TRACEBACK_MAX)
        source->message.origin = source->origin;
    source->origin = OOM_ORIGIN_UNKNOWN;
    source->is_placed = false;
    if (source->traceback.line > 0 && finder->line - source->traceback.line <= TRACEBACK_MAX)
        note_traceback(source);
    source->is_placed = source->message.place.file[0];
    if (hit->row->framework == OOM_CUDA && source->program != OOM_NONE &&
        finder->line - source->program_line <= TRACEBACK_MAX)
        source->message.framework = source->program;
    source->traceback = (struct traceback){.is_chained = source->traceback.is_chained,
                                           .place = source->traceback.place};
}

static void open_message(struct oom_finder *finder, struct source *source,
                         const struct window *window, const struct hit *hit)
{
    source->open = true;
    source->scanned = 0;
    source->lines = source->idle = source->later_epochs = 0;
    source->is_traced =
        source->traceback_line > 0 && finder->line - source->traceback_line <= TRACEBACK_MAX;
    source->traceback_line = 0;
    source->message = (struct oom){.framework = hit->row->framework,
                                   .kind = hit->row->kind,
                                   .cause = hit->row->cause,
                                   .went_on = hit->row->flags & OOM_PHRASE_CAUGHT,
                                   .place.line = -1,
                                   .line = finder->line,
                                   .last_line = finder->line,
                                   .gpu = -1,
                                   .epoch = source->epoch,
                                   .expandable = source->expandable};
    adopt_traceback(finder, source, hit);
    message_add_stats(&source->stats, finder->line, &source->message);
    source->message.printed = printed_summary(&source->printed);
    strcpy(source->message.source, source->name);
    copy_printable_line(window, source->message.text);
    text_clear(&source->body);
    size_t lead = hit->begin > window->tail ? hit->begin - window->tail : 0;
    lead = lead < LEAD_MAX ? lead : LEAD_MAX;
    message_front(window->text + hit->begin - lead, lead, &source->message);
    lead = hit->row->flags & OOM_PHRASE_LEAD ? lead : 0;
    add_body(source, window->text + hit->begin - lead, hit->end - hit->begin + lead);
}

/* Only what came behind the last phrase: none is found twice. */
static void keep_tail(struct source *source, const struct window *window, size_t from)
{
    size_t rest = window->length - from, count = rest < TAIL_MAX ? rest : TAIL_MAX;
    memmove(source->tail, window->text + window->length - count, count);
    source->tail_length = count;
}

/* Lines after a message without a traceback show that the training went on: a later epoch, or two
 * lines of the same one (one may report the failure). An earlier epoch is of another training. */
static void note_later(struct source *source, uint64_t line, int64_t epoch, const char *raw,
                       size_t length)
{
    static const char *const skipped[] = {
        "kipping batch",      "kipping this batch",     "kipping sample",       "etrying",
        "educing batch size", "educing the batch size", "ecreasing batch size", "alling back to",
        "rying again with",   "ry again with"};
    struct oom *message = &source->message;
    if (message->went_on_batch == 0 && !message->went_on)
        message->went_on_batch = line_batch(raw, length);
    if (!source->is_traced && line - message->line <= IDLE_MAX &&
        phrase_may_hold(raw, length, skipped, sizeof skipped / sizeof *skipped))
        message->went_on = true;
    /* A second traceback is of another failure. */
    if (source->traceback_line == line && message->place.file[0] && !source->traceback.is_kept)
        source->is_placed = true;
    /* Caught, and the program failed nevertheless. */
    if (source->traceback_line == line && line - message->line <= IDLE_MAX) {
        source->is_traced = true;
        message->went_on = false;
    }
    if (source->traceback.line == line &&
        (line - message->line <= LATER_MAX || message->place.file[0]))
        note_traceback(source);
    if (epoch < 0)
        return;
    source->is_traced = source->is_traced || epoch < message->epoch;
    source->later_epochs++;
    if (!source->is_traced && (epoch > message->epoch || source->later_epochs >= 2))
        message->went_on = true;
}

static void note_training(struct source *source, uint64_t line, const char *raw, size_t length)
{
    static const char *const traceback[] = {"Traceback (most recent call last)"};
    int64_t epoch = line_epoch(raw, length);
    enum oom_origin origin = line_origin(raw, length);
    enum oom_framework program = line_program(raw, length);
    if (program != OOM_NONE) {
        source->program = program;
        source->program_line = line;
    }
    enum oom_setting expandable = line_expandable(raw, length);
    if (epoch >= 0)
        source->epoch = epoch;
    if (phrase_may_hold(raw, length, traceback, 1))
        source->traceback_line = line;
    traceback_read(&source->traceback, line, raw, length);
    message_stats_read(&source->stats, line, raw, length);
    if ((source->open || source->closed) && line > source->message.line)
        note_later(source, line, epoch, raw, length);
    if (expandable != OOM_SETTING_UNKNOWN)
        source->expandable = expandable;
    printed_read(&source->printed, source->epoch, raw, length);
    if (origin != OOM_ORIGIN_UNKNOWN) {
        source->origin = origin;
        source->origin_line = line;
    }
}

/* `.. code-block::` and "an error similar to": the indented lines that follow are documentation. */
static bool is_in_quoted_block(struct source *source, const struct window *window)
{
    static const char *const leads[] = {".. code-block::", "error similar to"};
    const char *raw = window->raw;
    size_t length = window->raw_length, blanks = 0;
    if (window->begins && source->is_quoting) {
        while (blanks < length && is_removed_blank(raw[blanks]))
            blanks++;
        source->is_quoting = blanks == length || blanks >= 3;
    }
    bool is_quoted = source->is_quoting;
    if (phrase_may_hold(raw, length, leads, sizeof leads / sizeof *leads))
        source->is_quoting = true;
    return is_quoted;
}

static void scan_piece(struct oom_finder *finder, struct source *source, const char *raw,
                       size_t length, bool begins, bool ends)
{
    struct window window;
    fill_window(source, raw, length, begins, &window);
    window.ends = ends;
    note_training(source, finder->line, raw, length);
    size_t from = 0, unread = window.tail;
    struct hit hit = {0};
    if (!is_in_quoted_block(source, &window))
        hit = find_hit(finder, &window, 0);
    while (hit.end > 0) {
        bool is_more = is_continued(finder, source, &window, &hit);
        if (source->open && hit.begin > unread)
            add_body(source, window.text + unread, hit.begin - unread);
        if (is_more) {
            continue_message(finder, source, &window, &hit);
        } else {
            report_message(finder, source);
            open_message(finder, source, &window, &hit);
        }
        from = unread = hit.end;
        hit = find_hit(finder, &window, from);
    }
    if (source->open)
        add_body(source, window.text + unread, window.length - unread);
    keep_tail(source, &window, from);
}

static void end_source_line(struct oom_finder *finder, struct source *source, bool empty)
{
    if (!source->open)
        return;
    size_t found = message_scan(text_get(&source->body), source->body.length, &source->scanned,
                                &source->message);
    if (found > 0)
        source->message.last_line = finder->line;
    source->idle = found > 0 ? 0 : source->idle + !empty;
    source->lines++;
    /* A driver's error is one line. */
    bool ended = source->message.framework == OOM_CUDA || source->idle > IDLE_MAX ||
                 source->lines > LINES_MAX || source->body.length >= BODY_MAX;
    if (ended)
        close_message(source);
}

static void flush_piece(struct oom_finder *finder, bool ends)
{
    char name[OOM_SOURCE_SIZE];
    const char *raw = finder->piece;
    size_t length = finder->length;
    bool begins = finder->source == NULL;
    if (begins) {
        size_t front = source_read(raw, length, name, sizeof name);
        raw += front;
        length -= front;
        finder->source = source_for(finder, name);
        finder->source->used = finder->line;
    }
    scan_piece(finder, finder->source, raw, length, begins, ends);
    if (ends) {
        end_source_line(finder, finder->source, begins && length == 0);
        finder->source = NULL;
    }
    finder->length = 0;
}

/* True: the byte belongs to a sequence that colours a terminal's text, or sets its title. */
static bool skip_escape_byte(struct oom_finder *finder, char c)
{
    unsigned char byte = (unsigned char)c;
    if (finder->escape != ESCAPE_NONE && ++finder->escape_length > ESCAPE_MAX)
        finder->escape = ESCAPE_NONE;
    switch (finder->escape) {
    case ESCAPE_NONE:
        if (c != '\x1b')
            return false;
        finder->escape = ESCAPE_BEGUN;
        finder->escape_length = 0;
        break;
    case ESCAPE_BEGUN:
        finder->escape = c == '[' ? ESCAPE_CONTROL : c == ']' ? ESCAPE_TITLE : ESCAPE_NONE;
        break;
    case ESCAPE_CONTROL:
        if (byte < 0x20 || byte > 0x3f)
            finder->escape = ESCAPE_NONE;
        break;
    case ESCAPE_TITLE:
        if (c == '\a')
            finder->escape = ESCAPE_NONE;
        else if (c == '\x1b')
            finder->escape = ESCAPE_TITLE_END;
        break;
    case ESCAPE_TITLE_END:
        finder->escape = ESCAPE_NONE;
    }
    return true;
}

void oom_finder_take(struct oom_finder *finder, const char *bytes, size_t count)
{
    EACH (byte, bytes, count) {
        char c = *byte;
        finder->any = true;
        if (c == '\n' || c == '\r') {
            finder->escape = ESCAPE_NONE;
            flush_piece(finder, true);
            finder->line += c == '\n';
            finder->any = c != '\n';
        } else if (!skip_escape_byte(finder, c)) {
            finder->piece[finder->length++] = c;
            if (finder->length == PIECE_MAX)
                flush_piece(finder, false);
        }
    }
}

void oom_finder_end(struct oom_finder *finder)
{
    if (finder->length > 0 || finder->source)
        flush_piece(finder, true);
    for (size_t i = 0; i < finder->source_count; i++)
        report_message(finder, finder->sources[i]);
}

uint64_t oom_finder_lines(const struct oom_finder *finder)
{
    return finder->line - 1 + finder->any;
}

static bool same_size(struct oom_size a, struct oom_size b)
{
    return a.valid == b.valid && a.low == b.low && a.high == b.high;
}

static bool is_same_message(const struct oom *a, const struct oom *b)
{
    if (a->framework != b->framework || a->gpu != b->gpu || a->process_count != b->process_count ||
        a->kind != b->kind || a->cause != b->cause || strcmp(a->source, b->source) != 0 ||
        strcmp(a->shape, b->shape) != 0)
        return false;
    for (size_t i = 0; i < OOM_FIGURES; i++)
        if (!same_size(a->of[i], b->of[i]))
            return false;
    for (size_t i = 0; i < a->process_count; i++)
        if (a->processes[i].pid != b->processes[i].pid ||
            !same_size(a->processes[i].memory, b->processes[i].memory))
            return false;
    return true;
}

void oom_list_add(void *context, const struct oom *message)
{
    struct oom_list *list = context;
    list->found++;
    for (size_t i = list->count; i-- > 0;)
        if (is_same_message(&list->items[i], message)) {
            list->items[i].repeats++;
            list->items[i].went_on = list->items[i].went_on && message->went_on;
            list->items[i].went_on_batch = message->went_on_batch;
            return;
        }
    if (list->count == OOM_LIST_MAX) {
        list->left_out++;
        return;
    }
    /* In the order of the log: a message is reported when its source goes on. */
    MEM_ADD(list->items, list->count) = *message;
    for (size_t i = list->count - 1; i > 0 && list->items[i - 1].line > message->line; i--) {
        list->items[i] = list->items[i - 1];
        list->items[i - 1] = *message;
    }
}

void oom_list_fini(struct oom_list *list)
{
    free(list->items);
    *list = (struct oom_list){0};
}

void oom_parse(const char *bytes, size_t count, struct oom_list *out)
{
    struct oom_finder *finder = oom_finder_new(oom_list_add, out);
    *out = (struct oom_list){0};
    oom_finder_take(finder, bytes, count);
    oom_finder_end(finder);
    oom_finder_free(finder);
}
