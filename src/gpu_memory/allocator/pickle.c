#include "gpu_memory/allocator/pickle_private.h"

#include "base/mem.h"
#include "gpu_memory/allocator/pickle.h"
#include "gpu_memory/allocator/unpack.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_PER_BYTE 16
#define MEMORY_LEAST    (1 << 20)

bool pickle_fail(struct pickle *p, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(p->err, "byte %td: %s", p->opcode - p->bytes, text);
}

static bool fail_of_memory(struct pickle *p)
{
    return pickle_fail(
        p,
        "it would take more than %d bytes of memory for each byte read: no snapshot is written so",
        MEMORY_PER_BYTE);
}

bool pickle_array_grow(struct pickle *p, struct array *array, size_t more, size_t size)
{
    size_t wanted = array->capacity + array->capacity / 2 + 16;
    if (wanted < array->count + more)
        wanted = array->count + more;
    size_t held = p->held + (wanted - array->capacity) * size;
    if (held > p->held_max)
        return fail_of_memory(p);
    array->data = mem_resize(array->data, wanted, size);
    array->capacity = wanted;
    p->held = held;
    return true;
}

bool pickle_run_index(struct pickle *p, uint64_t hash, uint32_t start)
{
    size_t before = p->run_of.capacity;
    addr_map_set(&p->run_of, hash, start);
    p->held += (p->run_of.capacity - before) * sizeof *p->run_of.entries;
    return p->held <= p->held_max || fail_of_memory(p);
}

static const char *opcode_text(uint8_t opcode)
{
    static const struct {
        uint8_t opcode;
        const char *name;
    } refused[] = {{'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},  {'b', "BUILD"},
                   {'i', "INST"},   {'o', "OBJ"},           {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"},
                   {'P', "PERSID"}, {'Q', "BINPERSID"},     {0x82, "EXT1"},   {0x83, "EXT2"},
                   {0x84, "EXT4"},  {0x97, "NEXT_BUFFER"}};
    EACH_OF (item, refused)
        if (item->opcode == opcode)
            return item->name;
    return NULL;
}

bool pickle_refuse(struct pickle *p)
{
    uint8_t opcode = *p->opcode;
    const char *name = opcode_text(opcode);
    if (name)
        return pickle_fail(
            p, "opcode %s would run code; a memory snapshot has none, and nothing was run", name);
    return pickle_fail(p,
                       "opcode 0x%02x is none that a memory snapshot has; is this what "
                       "torch.cuda.memory._dump_snapshot() wrote?",
                       opcode);
}

static bool is_compressed(const uint8_t *bytes, size_t count, struct err *err)
{
    const struct unpack_format *format = unpack_find(bytes, count);
    return format && !err_set(err,
                              "byte 0: it is compressed (%s), which is not read: unpack it first "
                              "(%s)",
                              format->name, format->by_hand);
}

static void array_free(struct pickle *p, struct array *array, size_t size)
{
    p->held -= array->capacity * size;
    free(array->data);
    *array = (struct array){0};
}

void pickle_drop_read(struct pickle *p)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = (size_t)(p->at - p->dropped) / page * page;
    if (count > 0)
        madvise((void *)(uintptr_t)p->dropped, count, MADV_DONTNEED);
    p->dropped += count;
}

static struct pickle *read_bytes(const void *bytes, size_t count, bool is_mapped, struct err *err)
{
    const uint8_t *first = bytes;
    if (count == 0) {
        err_set(err, "byte 0: the file is empty");
        return NULL;
    }
    if (is_compressed(first, count, err))
        return NULL;
    if (*first != 0x80 && !memchr("(}]", *first, 3)) {
        err_set(err,
                "byte 0: it is not a pickle of a dictionary or list (it begins with 0x%02x); what "
                "torch.cuda.memory._dump_snapshot() writes is read",
                *first);
        return NULL;
    }
    struct pickle *p = mem_alloc(sizeof *p);
    *p = (struct pickle){
        .bytes = first, .at = first, .opcode = first, .end = first + count, .err = err};
    p->held_max = count > (SIZE_MAX - MEMORY_LEAST) / MEMORY_PER_BYTE
                      ? SIZE_MAX
                      : count * MEMORY_PER_BYTE + MEMORY_LEAST;
    p->dropped = is_mapped ? first : NULL;
    pickle_names_init(&p->names);
    if (!pickle_run(p)) {
        pickle_free(p);
        return NULL;
    }
    array_free(p, &p->stack, sizeof(struct pickle_value));
    array_free(p, &p->memo, sizeof(struct pickle_value));
    p->err = NULL;
    return p;
}

struct pickle *pickle_read(const void *bytes, size_t count, struct err *err)
{
    return read_bytes(bytes, count, false, err);
}

struct pickle *pickle_read_mapped(const void *bytes, size_t count, struct err *err)
{
    return read_bytes(bytes, count, true, err);
}

void pickle_free(struct pickle *p)
{
    if (!p)
        return;
    free(p->stack.data);
    free(p->marks.data);
    free(p->memo.data);
    free(p->items.data);
    free(p->pieces.data);
    free(p->holders.data);
    free(p->runs.data);
    addr_map_fini(&p->run_of);
    free(p->events.data);
    free(p->streams.data);
    free(p);
}

struct pickle_value pickle_root(const struct pickle *p)
{
    return p->root;
}

static const struct holder *holder_of(const struct pickle *p, struct pickle_value value)
{
    bool holds =
        value.kind == PICKLE_LIST || value.kind == PICKLE_TUPLE || value.kind == PICKLE_DICT;
    const struct holder *holder =
        holds ? (const struct holder *)p->holders.data + value.index : NULL;
    return holder && holder->last != HOLDER_EVENT ? holder : NULL;
}

struct pickle_walk pickle_walk(const struct pickle *p, struct pickle_value holder)
{
    const struct holder *found = holder_of(p, holder);
    return (struct pickle_walk){.pickle = p, .piece = found ? found->first : 0};
}

bool pickle_next(struct pickle_walk *walk, struct pickle_value *out)
{
    if (walk->piece == 0)
        return false;
    const struct piece *piece = (const struct piece *)walk->pickle->pieces.data + walk->piece - 1;
    if (piece->is_run)
        *out = (struct pickle_value){
            .kind = PICKLE_DICT,
            .index = ((const uint32_t *)walk->pickle->runs.data)[piece->start + walk->at]};
    else
        *out = ((const struct pickle_value *)walk->pickle->items.data)[piece->start + walk->at];
    if (++walk->at == piece->count)
        *walk = (struct pickle_walk){.pickle = walk->pickle, .piece = piece->next};
    return true;
}

size_t pickle_count(const struct pickle *p, struct pickle_value value)
{
    const struct holder *holder = holder_of(p, value);
    size_t count = 0;
    for (uint32_t piece = holder ? holder->first : 0; piece;) {
        const struct piece *found = (const struct piece *)p->pieces.data + piece - 1;
        count += found->count;
        piece = found->next;
    }
    return count;
}

uint32_t *pickle_note(struct pickle *p, struct pickle_value list)
{
    const struct holder *holder = list.kind == PICKLE_LIST ? holder_of(p, list) : NULL;
    if (!holder || holder->first == 0 || holder->first != holder->last)
        return NULL;
    const struct piece *piece = (const struct piece *)p->pieces.data + holder->first - 1;
    return piece->is_run ? (uint32_t *)p->runs.data + piece->start - RUN_HEAD : NULL;
}

struct pickle_value pickle_get(const struct pickle *p, struct pickle_value dict, enum name key)
{
    struct pickle_value found = {.kind = PICKLE_ABSENT}, at, value;
    if (dict.kind != PICKLE_DICT)
        return found;
    struct pickle_walk walk = pickle_walk(p, dict);
    while (pickle_next(&walk, &at) && pickle_next(&walk, &value))
        if (at.kind == PICKLE_TEXT && at.name == key)
            found = value;
    return found;
}

bool pickle_number(struct pickle_value value, uint64_t *out)
{
    if (value.kind != PICKLE_INT && value.kind != PICKLE_UINT && value.kind != PICKLE_BOOL)
        return false;
    *out = value.index;
    return true;
}

const uint64_t *pickle_streams(const struct pickle *p, size_t *count)
{
    *count = p->streams.count;
    return p->streams.data;
}

size_t pickle_memory(const struct pickle *p)
{
    return p->held;
}

static const char *const texts[NAME_COUNT] = {"",
#define X(name, text) text,
                                              NAMES(X)
#undef X
};

static size_t slot(const char *text, size_t length)
{
    return (length * 7 + (unsigned char)text[0] + (size_t)(unsigned char)text[length - 1] * 3) %
           128;
}

void pickle_names_init(struct names *names)
{
    memset(names, 0, sizeof *names);
    for (unsigned name = 1; name < NAME_COUNT; name++) {
        uint8_t *first = &names->first[slot(texts[name], strlen(texts[name]))];
        names->next[name] = *first;
        *first = (uint8_t)name;
    }
}

enum name pickle_names_find(const struct names *names, const char *text, size_t length)
{
    if (length == 0)
        return NAME_UNKNOWN;
    unsigned name = names->first[slot(text, length)];
    while (name && (strlen(texts[name]) != length || memcmp(texts[name], text, length) != 0))
        name = names->next[name];
    return name;
}

const char *pickle_name_text(enum name name)
{
    return texts[name];
}

#define STREAMS_MAX 1024

/* Events of one stream follow each other mostly, so that the place of the last one is checked
 * first. */
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

bool pickle_event_set(struct pickle *p, struct pickle_event *event, struct pickle_value key,
                      struct pickle_value value)
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
        return pickle_fail(p, "'%s' of an event is not an integer", pickle_name_text(key.name));
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

bool pickle_event(struct pickle *p, struct pickle_value dict, struct pickle_event *out,
                  struct err *err)
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
        good = pickle_event_set(p, out, key, value);
    p->err = NULL;
    return good;
}
