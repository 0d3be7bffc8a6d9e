#include "gpu_memory/allocator/pickle_private.h"

#define STREAMS_MAX 1024

/* Events of one stream follow each other mostly, so that the place of the last one is looked at first. */
static bool stream_place(struct pickle *p, uint64_t stream, uint16_t hint, uint16_t *out)
{
    uint64_t *streams = p->streams.data;
    if (hint < p->streams.count && streams[hint] == stream) {
        *out = hint;
        return true;
    }
    for (size_t i = 0; i < p->streams.count; i++)
        if (streams[i] == stream) {
            *out = (uint16_t)i;
            return true;
        }
    if (p->streams.count == STREAMS_MAX)
        return pickle_fail(p, "the events name more than %d streams", STREAMS_MAX);
    if (!array_room(p, &p->streams, 1, sizeof stream))
        return false;
    ((uint64_t *)p->streams.data)[p->streams.count] = stream;
    *out = (uint16_t)p->streams.count++;
    return true;
}

bool event_set(struct pickle *p, struct pickle_event *event, struct pickle_value key, struct pickle_value value)
{
    uint64_t number;
    switch (key.kind == PICKLE_TEXT ? key.name : NAME_UNKNOWN) {
    case NAME_ACTION:
        event->action = value.name;
        return value.kind == PICKLE_TEXT || pickle_fail(p, "'action' of an event is not a string");
    case NAME_FRAMES:
        if (value.kind == PICKLE_LIST)
            event->frames = (uint32_t)value.index + 1;
        return value.kind == PICKLE_LIST || value.kind == PICKLE_NONE ||
               pickle_fail(p, "'frames' of an event is no list");
    case NAME_ADDR:
    case NAME_DEVICE_FREE:
    case NAME_SIZE:
    case NAME_STREAM:
    case NAME_TIME_US:
        break;
    default:
        return true;
    }
    if (!pickle_number(value, &number))
        return pickle_fail(p, "'%s' of an event is not an integer", name_text(key.name));
    switch (key.name) {
    case NAME_SIZE:
        event->size = number;
        event->set |= PICKLE_SET_SIZE;
        return true;
    case NAME_TIME_US:
        event->time_us = (int64_t)number;
        event->set |= PICKLE_SET_TIME;
        return true;
    case NAME_STREAM:
        event->set |= PICKLE_SET_STREAM;
        return stream_place(p, number, event->stream, &event->stream);
    default:
        event->addr = number;
        event->set |= PICKLE_SET_ADDR;
        return true;
    }
}

bool pickle_event(struct pickle *p, struct pickle_value dict, struct pickle_event *out, struct err *err)
{
    if (dict.kind != PICKLE_DICT)
        return err_set(err, "an event is no dictionary");
    const struct holder *holder = (const struct holder *)p->holders.data + dict.index;
    if (holder->last == HOLDER_EVENT) {
        *out = ((const struct pickle_event *)p->events.data)[holder->first];
        return true;
    }
    struct pickle_walk walk = pickle_walk(p, dict);
    struct pickle_value key, value;
    *out = (struct pickle_event){0};
    p->err = err;
    bool good = true;
    while (good && pickle_next(&walk, &key) && pickle_next(&walk, &value))
        good = event_set(p, out, key, value);
    p->err = NULL;
    return good;
}
