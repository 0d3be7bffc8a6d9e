#include "run/past.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "plan/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 16 << 20 }; /* as store/ writes them */

void past_fini(struct past *past)
{
    for (size_t i = 0; i < past->count; i++) {
        json_decref(past->items[i].last_ended);
        json_decref(past->items[i].ladder);
    }
    free(past->items);
    *past = (struct past){0};
}

struct past_item past_of(const struct past *past, size_t number)
{
    return number >= 1 && number <= past->count ? past->items[number - 1] : (struct past_item){0};
}

void past_forget(struct past *past, size_t number)
{
    if (number < 1 || number > past->count)
        return;
    json_decref(past->items[number - 1].last_ended);
    json_decref(past->items[number - 1].ladder);
    past->items[number - 1] = (struct past_item){0};
}

void past_keep(struct past *past, size_t count, size_t number, int64_t failed, json_t *last_ended)
{
    if (!past->items)
        *past = (struct past){.items = mem_array(count + 1, sizeof *past->items), .count = count};
    struct past_item *item = &past->items[number - 1];
    json_t *ladder = json_object_get(last_ended, "ladder");
    item->failed = failed;
    json_incref(last_ended);
    json_decref(item->last_ended);
    item->last_ended = last_ended;
    if (!ladder)
        return;
    json_decref(item->ladder);
    item->ladder = json_incref(ladder);
}

static void take_event(struct past *past, const struct event *event)
{
    if (event->experiment < 1 || (uint64_t)event->experiment > past->count)
        return;
    struct past_item *item = &past->items[event->experiment - 1];
    if (event->type == EVENT_EXPERIMENT_AGAIN)
        past_forget(past, (size_t)event->experiment);
    json_t *ladder = json_object_get(event->data, "ladder");
    if (ladder) {
        json_decref(item->ladder);
        item->ladder = json_incref(ladder);
    }
    enum outcome outcome = OUTCOME_NONE;
    const char *name = json_string_value(json_object_get(event->data, "outcome"));
    if (name && !outcome_parse(name, &outcome))
        outcome = OUTCOME_NONE;
    /* Of what has ended for good nothing is asked any more, and a run may have many. */
    if (event->type == EVENT_EXPERIMENT_ENDED && (outcome == OUTCOME_SUCCEEDED || outcome == OUTCOME_FAILED))
        past_forget(past, (size_t)event->experiment);
    if (event->type != EVENT_ATTEMPT_ENDED)
        return;
    if (outcome == OUTCOME_FAILED)
        item->failed++;
    json_decref(item->last_ended);
    item->last_ended = json_incref(event->data);
}

static bool take_line(struct past *past, const char *line, size_t length)
{
    struct event event = {0};
    json_t *json = json_load_bounded(line, length, JSON_REJECT_DUPLICATES, NULL);
    bool fine = json && event_from_json(json, &event);
    if (fine)
        take_event(past, &event);
    event_fini(&event);
    json_decref(json);
    return fine;
}

bool past_read(int dir, size_t count, struct past *out, struct err *err)
{
    AUTO_CLOSE int fd = fs_open_at(dir, "events.jsonl", err);
    if (fd < 0)
        return false;
    AUTO_FILE FILE *file = fdopen(fd, "r");
    if (!file)
        return err_sys(err, "read events.jsonl");
    (void)steal_fd(&fd);
    *out = (struct past){.items = mem_array(count + 1, sizeof *out->items), .count = count};
    AUTO_TEXT struct text line = {0};
    size_t number = 0;
    int got;
    while ((got = fs_read_line(file, LINE_MAX_BYTES, &line)) != 0) {
        number++;
        if (got < 0 || !take_line(out, text_get(&line), line.length)) {
            past_fini(out);
            return err_set(err, "events.jsonl: line %zu is no event", number);
        }
    }
    if (ferror(file)) {
        past_fini(out);
        return err_sys(err, "read events.jsonl");
    }
    return true;
}

static void copy_key(const json_t *from, const char *key, json_t *to)
{
    json_t *value = json_object_get(from, key);
    json_object_set_new(to, key, value ? json_incref(value) : json_null());
}

json_t *past_experiment_ended(const char *outcome, int64_t retries, const json_t *last_attempt)
{
    json_t *json = json_object();
    json_object_set_new(json, "outcome", json_string(outcome));
    json_object_set_new(json, "retries", json_integer(retries));
    copy_key(last_attempt, "duration_s", json);
    copy_key(last_attempt, "metrics", json);
    copy_key(last_attempt, "error", json);
    return json;
}
