#include "results/store/import_line.h"

#include "base/json.h"

/* More are not believed: numbers are added to them. */
static const int64_t NUMBER_MAX = INT64_C(1) << 40;

/* The number that the line says it has, or that of the place where it stands. */
static bool take_seq(struct import_lines *lines, const json_t *json, int64_t *missing, struct err *err)
{
    json_int_t seq = lines->seq + 1;
    if (json_get(json, "seq") && (!json_get_int(json, "seq", &seq) || seq < 1 || seq > NUMBER_MAX)) {
        lines->seq++;
        return err_set(err, "has no number that can be");
    }
    /* It takes nobody's place. */
    if (seq <= lines->seq)
        return err_set(err, "is event %lld a second time", (long long)seq);
    *missing = seq - lines->seq - 1;
    lines->seq = seq;
    return true;
}

static bool place(const struct import_lines *lines, struct event *event, struct err *err)
{
    if (event->session < 1 || event->session > NUMBER_MAX)
        return err_set(err, "is of no session");
    event->session += lines->session_shift;
    if (lines->experiment == 0 || event->experiment == 0)
        return true;
    if (event->experiment != 1)
        return err_set(err, "is about experiment %lld, where there is but one", (long long)event->experiment);
    event->experiment = lines->experiment;
    /* Numbers of a plan that has one experiment mean nothing here. */
    if (event->type == EVENT_EVIDENCE && json_get(event->data, "experiments"))
        json_object_set_new(event->data, "experiments", json_array());
    return true;
}

/* What the tables cannot be without. Whoever wrote the line may have been another version, or a disk. */
static bool has_texts(const struct event *event, const char *const *keys, struct err *err)
{
    for (; *keys; keys++)
        if (!json_get_text(event->data, *keys))
            return err_set(err, "is a %s without '%s'", event_type_name(event->type), *keys);
    return true;
}

static bool is_whole(const struct event *event, struct err *err)
{
    static const char *const of_mark[] = {"name", "at", "source", NULL}, *const of_evidence[] = {"kind", "text", NULL};
    json_int_t t_ns;
    if (!event_is_journaled(event->type))
        return err_set(err, "is a %s, which no journal holds", event_type_name(event->type));
    if (event->type == EVENT_EVIDENCE)
        return has_texts(event, of_evidence, err);
    if (event->type != EVENT_MARK)
        return true;
    return has_texts(event, of_mark, err) &&
           (json_get_int(event->data, "t_ns", &t_ns) || err_set(err, "is a mark without 't_ns'"));
}

/* The first line's is that of what the other run began with. */
static void check_chain(struct import_lines *lines, const char *line, size_t length, const json_t *json)
{
    struct digest before;
    const char *hex = json_get_text(json, "before");
    bool wanted = hex || lines->chained > 0;
    if (wanted && !lines->changed && lines->seq > 0 &&
        (!digest_parse(hex, &before) || !digest_equal(&before, &lines->last)))
        lines->changed = lines->seq + 1;
    lines->chained += wanted;
    lines->last = digest_of(line, length);
}

bool import_line_take(struct import_lines *lines, const char *line, size_t length, struct event *out, int64_t *missing,
                      struct err *err)
{
    json_error_t why;
    json_t *json = json_load_bounded(line, length, JSON_REJECT_DUPLICATES, &why);
    *missing = 0;
    *out = (struct event){0};
    check_chain(lines, line, length, json);
    bool parsed = json && event_from_json(json, out);
    if (!json)
        err_set(err, "%s", why.text);
    else if (!parsed)
        err_set(err, "is no event");
    if (!parsed)
        lines->seq++;
    bool fine = parsed && take_seq(lines, json, missing, err) && place(lines, out, err) && is_whole(out, err);
    json_decref(json);
    if (!fine)
        event_fini(out);
    return fine;
}
