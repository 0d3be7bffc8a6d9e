#include "run/log/named.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/pattern/pattern.h"
#include "base/text.h"
#include "base/utf8.h"
#include "run/log/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 8, CHOICES_MAX = 3 * NAMES_MAX, METRICS_MAX = 64, RANKS_LIKELY = 16 };

enum line_kind { LINE_SUMMARY, LINE_BATCH, LINE_KINDS };

/* The last number of a name on one kind of lines. */
struct candidate {
    bool is_seen, readable;
    double number;
    uint64_t batches, batches_gap; /* batch lines since, and the most between two */
    /* numbers of other names since, and the most between two */
    uint64_t others, others_gap;
    uint64_t line;
    uint64_t counter; /* what its line counts */
    bool is_disputed; /* ranks gave different numbers */
    char text[64];
};

struct candidates {
    struct candidate of[CHOICES_MAX][LINE_KINDS];
    uint64_t batches[SPLITS];
    const struct candidate *chosen;
};

struct metric {
    struct choice {
        struct printed_name name;
        size_t base;     /* index in the vocabulary */
        bool is_of_line; /* the line names the split */
    } choices[CHOICES_MAX];
    size_t count;
    /* every: without lines of other named ranks. first: of the first rank, if bare numbers before
     * lines may be ranks. */
    struct candidates every, first;
    uint64_t every_rank, first_rank;
    uint64_t bases; /* base_bit of its choices */
    bool is_updated;
};

/* Numbers before lines, "1: loss 0.3": epochs, steps or ranks. */
struct bare_numbers {
    bool is_seen;
    uint64_t least, most, last;
    bool fell, fell_between; /* to the lowest; to another */
    bool jumped;             /* by more than one */
    bool is_besides_counter; /* lines count epochs or steps, too */
};

struct named {
    struct printed_name vocabulary[PRINTED_NAMES_MAX];
    size_t vocabulary_count;
    struct metric *metrics;
    size_t count;
    struct bare_numbers bare;
    struct log_table table;
    locale_t c_locale;
    uint64_t lines;
    bool has_ranks; /* several, without labels */
    struct printed_line line;
};

bool named_is(const char *source)
{
    return strncmp(source, PATTERN_NAMED, strlen(PATTERN_NAMED)) == 0;
}

struct named *named_new(locale_t c_locale, bool has_ranks)
{
    struct named *named = mem_alloc(sizeof *named);
    named->c_locale = c_locale;
    named->has_ranks = has_ranks;
    return named;
}

void named_free(struct named *named)
{
    if (named)
        free(named->metrics);
    free(named);
}

static bool find_or_add(struct named *named, const struct printed_name *name, size_t *out)
{
    for (*out = 0; *out < named->vocabulary_count; ++*out)
        if (strcmp(named->vocabulary[*out].base, name->base) == 0)
            return true;
    if (named->vocabulary_count == PRINTED_NAMES_MAX)
        return false;
    named->vocabulary[named->vocabulary_count++] = *name;
    return true;
}

/* Several bases share a bit. */
static uint64_t base_bit(size_t base)
{
    return UINT64_C(1) << base % 64;
}

/* "accuracy" also means "Test: accuracy 0.9" if every such line names a split. A loss does not:
 * training and test both print "loss". */
static void add_of_line(struct metric *metric)
{
    const size_t named = metric->count;
    for (enum printed_split split = SPLITS; split-- > SPLIT_VALIDATION;)
        for (size_t i = 0; i < named; i++) {
            const struct choice *choice = &metric->choices[i];
            if (choice->name.split || text_ends_with(choice->name.base, "loss") ||
                strcmp(choice->name.base, "loss") == 0)
                continue;
            metric->choices[metric->count] = *choice;
            metric->choices[metric->count].name.split = split;
            metric->choices[metric->count++].is_of_line = true;
        }
}

bool named_add(struct named *named, const char *source, struct err *err)
{
    struct metric metric = {.every_rank = UINT64_MAX, .first_rank = UINT64_MAX};
    const char *at = source + strlen(PATTERN_NAMED);
    if (named->count == METRICS_MAX)
        return err_set(err, "more than %d metrics with '%s'", METRICS_MAX, PATTERN_NAMED);
    for (bool more = true; more;) {
        size_t length = strcspn(at, ",");
        struct choice *choice = &metric.choices[metric.count];
        if (metric.count == NAMES_MAX)
            return err_set(err, "more than %d names after '%s'", NAMES_MAX, PATTERN_NAMED);
        if (!printed_name_parse(at, length, &choice->name))
            return err_set(err, "'%.*s' after '%s' is not a name as val_loss",
                           (int)(length < 64 ? length : 64), at, PATTERN_NAMED);
        if (!find_or_add(named, &choice->name, &choice->base))
            return err_set(err, "more than %d different names after '%s'", PRINTED_NAMES_MAX,
                           PATTERN_NAMED);
        metric.bases |= base_bit(choice->base);
        metric.count++;
        more = at[length] == ',';
        at += length + more;
    }
    add_of_line(&metric);
    MEM_ADD(named->metrics, named->count) = metric;
    return true;
}

static void note_bare(struct bare_numbers *bare, const struct printed_line *line)
{
    uint64_t number = line->rank;
    if (!bare->is_seen)
        *bare =
            (struct bare_numbers){.is_seen = true, .least = number, .most = number, .last = number};
    bare->is_besides_counter |= line->counter != 0;
    if (number < bare->last) {
        bare->fell |= number <= bare->least;
        bare->fell_between |= number > bare->least;
    }
    bare->jumped |= number > bare->last + 1;
    bare->least = number < bare->least ? number : bare->least;
    bare->most = number > bare->most ? number : bare->most;
    bare->last = number;
}

/* Processes print in any order; epochs and steps do not. */
static bool are_ranks(const struct bare_numbers *bare)
{
    return bare->fell_between || (bare->fell && bare->is_besides_counter);
}

static bool are_counts(const struct bare_numbers *bare)
{
    return !bare->is_seen || bare->least == bare->most ||
           bare->most - bare->least >= RANKS_LIKELY ||
           (!bare->fell && (bare->jumped || bare->least > 0));
}

static enum printed_split split_group(enum printed_split split)
{
    return split == SPLIT_TRAIN ? SPLIT_NONE : split;
}

/* The same line with another number may be of another rank. */
static bool is_disputed(const struct named *named, const struct candidate *one,
                        const struct printed_value *value)
{
    const struct printed_line *line = &named->line;
    bool is_again = line->counter ? line->counter == one->counter : one->line + 1 == named->lines;
    return named->has_ranks && line->rank_kind == RANK_NONE && one->is_seen && is_again &&
           (one->is_disputed || one->readable != value->readable || one->number != value->number);
}

static void note_value(const struct named *named, struct candidates *all,
                       const struct metric *metric, size_t name, enum line_kind kind,
                       const struct printed_value *value)
{
    struct candidate *one = &all->of[name][kind];
    enum printed_split group = split_group(metric->choices[name].name.split);
    uint64_t batches = all->batches[group] - one->batches;
    one->batches_gap = batches > one->batches_gap ? batches : one->batches_gap;
    one->others_gap = one->others > one->others_gap ? one->others : one->others_gap;
    all->batches[group] += kind == LINE_BATCH;
    one->batches = all->batches[group];
    one->others = 0;
    one->is_disputed = is_disputed(named, one, value);
    one->is_seen = true;
    one->line = named->lines;
    one->counter = named->line.counter;
    one->readable = value->readable && !one->is_disputed;
    one->number = value->number;
    utf8_copy_legible(value->text, value->length, one->text, sizeof one->text);
    for (size_t i = 0; i < metric->count; i++)
        if (i != name && split_group(metric->choices[i].name.split) == group)
            all->of[i][kind].others++;
}

/* A non-finite number on a batch line after the summary. */
static const struct candidate *find_diverged(const struct candidates *all,
                                             const struct metric *metric,
                                             const struct candidate *summary,
                                             enum printed_split group)
{
    for (size_t i = 0; i < metric->count; i++) {
        const struct candidate *batch = &all->of[i][LINE_BATCH];
        if (split_group(metric->choices[i].name.split) == group && batch->is_seen &&
            batch->readable && !isfinite(batch->number) && batch->batches > summary->batches)
            return batch;
    }
    return NULL;
}

static const struct candidate *choose_candidate(const struct candidates *all,
                                                const struct metric *metric)
{
    for (size_t i = 0; i < metric->count; i++) {
        const struct candidate *one = &all->of[i][LINE_SUMMARY];
        enum printed_split group = split_group(metric->choices[i].name.split);
        if (!one->is_seen)
            continue;
        const struct candidate *diverged = find_diverged(all, metric, one, group);
        if (diverged)
            return diverged;
        /* A number missing for longer than ever is not of the last epoch: "initial loss: 2.3". */
        if (all->batches[group] - one->batches <= one->batches_gap &&
            one->others <= one->others_gap + 1)
            return one;
    }
    for (size_t i = 0; i < metric->count; i++)
        if (all->of[i][LINE_BATCH].is_seen && all->of[i][LINE_BATCH].others <= 1)
            return &all->of[i][LINE_BATCH];
    return NULL;
}

static void forget_candidates(struct candidates *all)
{
    *all = (struct candidates){0};
}

/* The first rank counts, and lines without one. */
static bool is_of_rank(struct candidates *all, uint64_t *least, uint64_t rank)
{
    if (rank < *least) {
        if (*least != UINT64_MAX)
            forget_candidates(all);
        *least = rank;
    }
    return rank == *least;
}

static void keep_candidate_value(struct named *named, struct metric *metric, size_t name,
                                 const struct printed_value *value)
{
    const struct printed_line *line = &named->line;
    enum line_kind kind = line->is_batch ? LINE_BATCH : LINE_SUMMARY;
    uint64_t named_rank = line->rank_kind == RANK_NAMED ? line->rank : 0;
    uint64_t any_rank = line->rank_kind == RANK_NONE ? 0 : line->rank;
    if (is_of_rank(&metric->every, &metric->every_rank, named_rank)) {
        note_value(named, &metric->every, metric, name, kind, value);
        metric->is_updated = true;
    }
    if (is_of_rank(&metric->first, &metric->first_rank, any_rank)) {
        note_value(named, &metric->first, metric, name, kind, value);
        metric->is_updated = true;
    }
}

static bool is_choice(const struct choice *choice, const struct printed_value *value)
{
    return choice->base == value->base && choice->name.split == value->split &&
           (!choice->is_of_line || value->is_of_line);
}

bool named_read_line(struct named *named, const char *line, size_t length)
{
    for (size_t i = 0; i < named->count; i++)
        named->metrics[i].is_updated = false;
    printed_line_parse(&named->line, line, length, named->vocabulary, named->vocabulary_count,
                       named->c_locale);
    log_table_read_line(&named->table, &named->line, named->vocabulary, named->vocabulary_count,
                        named->c_locale);
    const struct printed_line *read = &named->line;
    named->lines++;
    if (read->value_count > 0 && read->rank_kind == RANK_BARE)
        note_bare(&named->bare, read);
    uint64_t bases = 0;
    for (size_t v = 0; v < read->value_count; v++)
        bases |= base_bit(read->values[v].base);
    for (size_t m = 0; m < named->count && bases; m++)
        for (size_t i = named->metrics[m].bases & bases ? named->metrics[m].count : 0; i-- > 0;)
            for (size_t v = 0; v < read->value_count; v++)
                if (is_choice(&named->metrics[m].choices[i], &read->values[v]))
                    keep_candidate_value(named, &named->metrics[m], i, &read->values[v]);
    return read->value_count > 0;
}

static bool is_same_candidate(const struct candidate *a, const struct candidate *b)
{
    return a && b && a->readable == b->readable &&
           (a->number == b->number || (isnan(a->number) && isnan(b->number)));
}

bool named_get(struct named *named, size_t index, struct named_number *out)
{
    struct metric *metric = &named->metrics[index];
    *out = (struct named_number){0};
    if (!metric->is_updated)
        return false;
    const struct candidate *every = choose_candidate(&metric->every, metric),
                           *first = choose_candidate(&metric->first, metric);
    bool is_first = are_ranks(&named->bare);
    bool is_clear = is_first || are_counts(&named->bare) || is_same_candidate(every, first);
    const struct candidate *chosen = is_first ? first : every;
    struct candidates *all = is_first ? &metric->first : &metric->every;
    if (chosen)
        memcpy(out->text, chosen->text, sizeof out->text);
    out->has_number = chosen && is_clear && chosen->readable;
    out->number = out->has_number ? chosen->number : 0;
    out->is_better = all->chosen && chosen != all->chosen && !(chosen && !isfinite(chosen->number));
    out->is_new = chosen && chosen->line == named->lines;
    all->chosen = chosen;
    return true;
}
