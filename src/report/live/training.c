#include "report/live/training.h"
#include "base/mem.h"
#include "report/live/layout.h"

#include "base/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A rate that was looked at for less tells nothing. */
static const double RATE_MIN_S = 2;

/* What the share of the whole is taken from; where that changes, the rate is measured anew. */
enum source {
    SOURCE_NONE,
    SOURCE_MARKS,
    SOURCE_EPOCHS_BAR,
    SOURCE_EPOCH_BAR,
    SOURCE_RESTARTS,
    SOURCE_WHOLE_BAR
};

void training_begin(struct training *training, struct reading epochs)
{
    *training = (struct training){.epochs = epochs};
}

/* "epoch" in any case; gives what is behind it. */
static const char *behind_epoch(const char *name)
{
    for (; *name; name++)
        if (strncasecmp(name, "epoch", 5) == 0)
            return name + 5;
    return NULL;
}

/* "3", "3/10" or "3 of 10", behind at most a few other characters. False: no number. of: 0: not
 * said. */
static bool read_number_of(const char *text, double *number, double *of)
{
    char *end;
    size_t skipped = strcspn(text, "0123456789");
    *of = 0;
    if (skipped > 4 || !text[skipped])
        return false;
    *number = strtod(text + skipped, &end);
    end += strspn(end, " ");
    if (*end == '/' || strncmp(end, "of ", 3) == 0) {
        end += strcspn(end, "0123456789");
        *of = isdigit((unsigned char)*end) ? strtod(end, NULL) : 0;
    }
    return *number < 1e9 && *of < 1e9;
}

/* A first epoch that is called 0 makes the others one more than they are called. */
static double from_one(struct training *training, double number)
{
    training->from_zero = training->from_zero || number < 1;
    return number + training->from_zero;
}

void training_mark(struct training *training, const struct event_facts *facts, int64_t now_ns)
{
    const char *name = facts->name, *label = facts->label, *at = facts->at;
    double number, of;
    if (!name || !at)
        return;
    /* Epochs, else what is marked first. */
    if (!*training->mark || (strcmp(training->mark, name) != 0 && behind_epoch(name) &&
                             !behind_epoch(training->mark))) {
        struct reading epochs = training->epochs;
        training_begin(training, epochs);
        snprintf(training->mark, sizeof training->mark, "%s", name);
    }
    if (strcmp(training->mark, name) != 0)
        return;
    bool ended = strcmp(at, "end") == 0;
    bool labelled = label && isdigit((unsigned char)*label) && read_number_of(label, &number, &of);
    if (labelled)
        training->marked = from_one(training, number);
    else if (!ended || training->marked_ended || training->marked == 0)
        training->marked++;
    training->marked_of = labelled && of > 0 ? of : training->marked_of;
    training->marked_ended = ended;
    training_look(training, now_ns);
}

/* A bar that was called "Epoch 0" when it appeared. */
static void note_first(struct training *training, const char *name)
{
    double number, of;
    const char *behind = name ? behind_epoch(name) : NULL;
    if (behind && read_number_of(behind, &number, &of))
        from_one(training, number);
}

void training_bars(struct training *training, const struct event_facts *facts, int64_t now_ns)
{
    training->bar_count = 0;
    EACH (told, facts->bars, facts->bar_count) {
        struct training_bar *bar = &training->bars[training->bar_count];
        if (!told->name || training->bar_count == TRAINING_BARS || !told->done.valid)
            continue;
        *bar = (struct training_bar){.done = told->done.value, .restarts = (double)told->restarts};
        snprintf(bar->name, sizeof bar->name, "%s", told->name);
        note_first(training, told->first);
        bar->total = (struct reading){told->total.value, told->total.value > 0};
        if (told->latest)
            training->latest = training->bar_count;
        training->bar_count++;
    }
    training_look(training, now_ns);
}

static double bar_share(const struct training_bar *bar)
{
    return bar->total.valid ? fmin(bar->done / bar->total.value, 1) : 0;
}

/* The latest bar but this one that has a total; NULL: none. */
static const struct training_bar *other_bar(const struct training *training,
                                            const struct training_bar *but)
{
    const struct training_bar *latest =
        training->bar_count ? &training->bars[training->latest] : NULL;
    return latest && latest != but && latest->total.valid ? latest : NULL;
}

static void in_epochs(struct training_state *state, double epoch, double epochs,
                      struct reading inner)
{
    double known = fmax(epochs, epochs > 0 ? epoch : 0);
    state->epoch = epoch;
    state->epochs = known;
    state->inner = inner;
    if (known > 0)
        state->share =
            (struct reading){fmin((epoch - 1 + (inner.valid ? inner.value : 0)) / known, 1), true};
}

/* "Epoch 3/10:  45%": a bar of one epoch. */
static bool state_of_epoch_bar(struct training *training, const struct training_bar *bar,
                               struct training_state *state)
{
    double number, of;
    const char *behind = behind_epoch(bar->name);
    if (!behind || !read_number_of(behind, &number, &of))
        return false;
    double epochs = training->epochs.valid ? training->epochs.value : of;
    in_epochs(state, from_one(training, number), epochs,
              (struct reading){bar_share(bar), bar->total.valid});
    state->source = SOURCE_EPOCH_BAR;
    return true;
}

/* "Epochs:  30%": a bar of all epochs, with or without one of each within. */
static bool state_of_epochs_bar(const struct training *training, const struct training_bar *bar,
                                struct training_state *state)
{
    if (!behind_epoch(bar->name) || !bar->total.valid)
        return false;
    const struct training_bar *inner = other_bar(training, bar);
    bool whole = bar->done >= bar->total.value;
    in_epochs(state, whole ? bar->total.value : floor(bar->done) + 1, bar->total.value,
              (struct reading){whole   ? 1
                               : inner ? fmod(bar_share(inner), 1)
                                       : 0,
                               true});
    state->source = SOURCE_EPOCHS_BAR;
    return true;
}

static void state_of_marks(const struct training *training, struct training_state *state)
{
    bool named = behind_epoch(training->mark) != NULL;
    double epochs = training->epochs.valid && named ? training->epochs.value : training->marked_of;
    const struct training_bar *bar = other_bar(training, NULL);
    /* Whether a bar that never began again is of the epoch or of all, the first epoch does not
     * tell. */
    bool inner = bar && bar->restarts > 0 && !training->marked_ended;
    double epoch = fmax(training->marked, 1);
    in_epochs(state, epoch, epochs,
              (struct reading){training->marked_ended ? 1
                               : inner                ? bar_share(bar)
                                                      : 0,
                               inner || training->marked_ended || epochs > 0});
    state->source = SOURCE_MARKS;
}

/* Bars that say nothing of epochs. */
static void state_of_bar(const struct training *training, struct training_state *state)
{
    const struct training_bar *bar = &training->bars[training->latest];
    /* Of two that are drawn in turns, the one that does not begin again is of the whole. */
    EACH (item, training->bars, training->bar_count)
        if (item->total.valid && item->restarts == 0 && bar->restarts > 0)
            bar = item;
    state->bar = 1 + (size_t)(bar - training->bars);
    state->inner = (struct reading){bar_share(bar), bar->total.valid};
    if (bar->restarts == 0) {
        state->share = state->inner;
        state->source = SOURCE_WHOLE_BAR;
    } else if (training->epochs.valid) {
        in_epochs(state, bar->restarts + 1, training->epochs.value, state->inner);
        state->source = SOURCE_RESTARTS;
    }
}

static struct training_state find_state(struct training *training)
{
    struct training_state state = {0};
    for (size_t i = 0; i < training->bar_count; i++)
        if (state_of_epoch_bar(training, &training->bars[i], &state) ||
            state_of_epochs_bar(training, &training->bars[i], &state))
            return state;
    if (*training->mark)
        state_of_marks(training, &state);
    else if (training->bar_count)
        state_of_bar(training, &state);
    return state;
}

void training_look(struct training *training, int64_t now_ns)
{
    struct training_state state = find_state(training);
    const struct training_state *before = &training->state;
    const char *of = state.bar ? training->bars[state.bar - 1].name : "";
    bool same = state.source == before->source && strcmp(of, training->of) == 0;
    /* A validation's bar begins again: what was reached stays. */
    if (same && state.share.valid && before->share.valid &&
        state.share.value < before->share.value) {
        if (state.epoch == before->epoch)
            return;
        same = false;
    }
    if (!same || !before->share.valid) {
        training->first_ns = now_ns;
        training->first = state.share.value;
    }
    if (!same || state.share.value > before->share.value || !before->share.valid)
        training->last_ns = now_ns;
    snprintf(training->of, sizeof training->of, "%s", of);
    training->state = state;
}

bool training_left(const struct training *training, int64_t now_ns, double *out)
{
    double share = training->state.share.value,
           took_s = (double)(training->last_ns - training->first_ns) / 1e9;
    if (!training->state.share.valid || share >= 1 || share <= training->first ||
        took_s < RATE_MIN_S)
        return false;
    *out = fmax(0, (1 - share) * took_s / (share - training->first) -
                       (double)(now_ns - training->last_ns) / 1e9);
    return true;
}

json_t *training_json(const struct training *training)
{
    const struct training_state *state = &training->state;
    const struct training_bar *bar = state->bar ? &training->bars[state->bar - 1] : NULL;
    bool has_epoch = state->epoch > 0;
    if (!has_epoch && !bar)
        return NULL;
    const char *name = !has_epoch                      ? bar->name
                       : state->source == SOURCE_MARKS ? training->mark
                                                       : "epoch";
    struct reading of = has_epoch ? (struct reading){state->epochs, state->epochs > 0} : bar->total;
    return json_pack("{s:o, s:o, s:o, s:o}", "name", json_text_or_null(name), "at",
                     json_finite(has_epoch ? state->epoch : bar->done), "of",
                     json_reading_or_null(of), "share",
                     json_reading_or_null(state->share.valid ? state->share : state->inner));
}

/* "epoch 3/20 ━━━╸────── 28 %" */
void training_add(const struct training *training, size_t width, bool ascii, struct text *out)
{
    const struct training_state *state = &training->state;
    if (state->epoch > 0) {
        text_addf(out, "%s %.0f", state->source == SOURCE_MARKS ? training->mark : "epoch",
                  state->epoch);
        if (state->epochs > 0)
            text_addf(out, "/%.0f", state->epochs);
    } else if (state->bar) {
        const struct training_bar *bar = &training->bars[state->bar - 1];
        text_addf(out, "%s%s%.10g", bar->name, *bar->name ? " " : "", bar->done);
        if (bar->total.valid)
            text_addf(out, "/%.10g", bar->total.value);
    }
    struct reading drawn = state->share.valid ? state->share : state->inner;
    if (out->length == 0 || !drawn.valid)
        return;
    text_add_char(out, ' ');
    bar_draw(drawn.value, width, ascii, out);
    text_addf(out, " %.0f %%", floor(100 * drawn.value + 1e-9));
}
