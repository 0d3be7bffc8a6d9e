/* Executes the opcodes of a pickle that build plain data; refuses all others. */
#include "base/mem.h"
#include "base/value.h"
#include "gpu_memory/allocator/pickle_private.h"

#include <string.h>

#define STACK(pickle) ((struct pickle_value *)(pickle)->stack.data)

static bool push(struct pickle *p, struct pickle_value value)
{
    if (!array_room(p, &p->stack, 1, sizeof value))
        return false;
    STACK(p)[p->stack.count++] = value;
    return true;
}

/* The stack's lowest element that the opcode may take: above the innermost mark. */
static size_t floor_height(const struct pickle *p)
{
    return p->marks.count ? ((size_t *)p->marks.data)[p->marks.count - 1] : 0;
}

static bool has(struct pickle *p, size_t values)
{
    return p->stack.count - floor_height(p) >= values ||
           pickle_fail(p, "it needs values that were not given before it");
}

/* An argument of count bytes; NULL: the input ends before it does. */
static const uint8_t *read_argument(struct pickle *p, uint64_t count)
{
    if ((uint64_t)(p->end - p->at) < count) {
        pickle_fail(p, "the file ends within a value");
        return NULL;
    }
    const uint8_t *taken = p->at;
    p->at += count;
    return taken;
}

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    memcpy(&value, bytes, count);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* An unsigned argument of count bytes. */
static bool read_unsigned(struct pickle *p, size_t count, uint64_t *out)
{
    const uint8_t *bytes = read_argument(p, count);
    if (!bytes)
        return false;
    *out = little_endian(bytes, count);
    return true;
}

static bool push_int(struct pickle *p, int64_t number)
{
    return push(p, (struct pickle_value){.kind = PICKLE_INT, .number = number});
}

static bool op_proto(struct pickle *p)
{
    uint64_t protocol;
    if (!read_unsigned(p, 1, &protocol))
        return false;
    return protocol <= 5 || pickle_fail(p, "it is protocol %d, and 0 to 5 are read", (int)protocol);
}

/* Frames only say how the file may be read in pieces. */
static bool op_frame(struct pickle *p)
{
    uint64_t length;
    if (!read_unsigned(p, 8, &length))
        return false;
    return length <= (uint64_t)(p->end - p->at) ||
           pickle_fail(p, "a frame is longer than what is left of the file");
}

static bool memo_set(struct pickle *p, uint64_t index)
{
    /* Writers count their memos from 0 on: one beyond the bytes read so far is no writer's. */
    if (index > (uint64_t)(p->at - p->bytes))
        return pickle_fail(p, "memo %llu is out of order", (unsigned long long)index);
    if (!has(p, 1))
        return false;
    if (index >= p->memo.count) {
        size_t more = (size_t)index + 1 - p->memo.count;
        if (!array_room(p, &p->memo, more, sizeof(struct pickle_value)))
            return false;
        memset((struct pickle_value *)p->memo.data + p->memo.count, 0,
               more * sizeof(struct pickle_value));
        p->memo.count += more;
    }
    ((struct pickle_value *)p->memo.data)[index] = STACK(p)[p->stack.count - 1];
    return true;
}

static bool memo_get(struct pickle *p, uint64_t index)
{
    const struct pickle_value *memo = p->memo.data;
    if (index >= p->memo.count || memo[index].kind == PICKLE_ABSENT)
        return pickle_fail(p, "memo %llu was never set", (unsigned long long)index);
    return push(p, memo[index]);
}

/* Two's complement of any length; a ninth byte of 0 is the sign of a number above INT64_MAX. */
static bool op_long1(struct pickle *p)
{
    uint64_t length, number;
    if (!read_unsigned(p, 1, &length))
        return false;
    const uint8_t *bytes = read_argument(p, length);
    if (!bytes)
        return false;
    if (length == 9 && bytes[8] == 0)
        return push(p,
                    (struct pickle_value){.kind = PICKLE_UINT, .index = little_endian(bytes, 8)});
    if (length > 8)
        return pickle_fail(p, "a number has more than 64 bits");
    /* All eight bytes at once where the file has as many: addresses and times are such numbers. */
    if (length > 0 && p->end - bytes >= 8)
        number = little_endian(bytes, 8) & UINT64_MAX >> (64 - 8 * length);
    else
        number = little_endian(bytes, length);
    if (length > 0 && length < 8 && (bytes[length - 1] & 0x80))
        number |= UINT64_MAX << (8 * length);
    return push_int(p, (int64_t)number);
}

static bool op_binfloat(struct pickle *p)
{
    uint64_t bits;
    struct pickle_value value = {.kind = PICKLE_FLOAT};
    if (!read_unsigned(p, 8, &bits))
        return false;
    bits = __builtin_bswap64(bits);
    memcpy(&value.real, &bits, sizeof value.real);
    return push(p, value);
}

static bool push_text(struct pickle *p, uint64_t length)
{
    const uint8_t *bytes = read_argument(p, length);
    if (!bytes)
        return false;
    const char *text = (const char *)bytes;
    return push(p,
                (struct pickle_value){.kind = PICKLE_TEXT,
                                      .name = (uint8_t)pickle_names_find(&p->names, text, length),
                                      .length = (uint32_t)length,
                                      .text = text});
}

static bool push_holder(struct pickle *p, enum pickle_kind kind)
{
    if (!array_room(p, &p->holders, 1, sizeof(struct holder)))
        return false;
    if (p->holders.count >= UINT32_MAX - 1)
        return pickle_fail(p, "there are more lists and dictionaries than can be counted");
    ((struct holder *)p->holders.data)[p->holders.count++] = (struct holder){0};
    return push(p, (struct pickle_value){.kind = (uint8_t)kind, .index = p->holders.count - 1});
}

/* Protocols 0 and 1 write some arguments as a line of text: without its end; NULL: there is none.
 */
static const char *read_line(struct pickle *p, size_t *length)
{
    const uint8_t *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
    const char *line = (const char *)p->at;
    if (!end) {
        pickle_fail(p, "the file ends within a line");
        return NULL;
    }
    *length = (size_t)(end - p->at);
    p->at = end + 1;
    return line;
}

/* "-17", "17L". */
static bool parse_decimal(const char *line, size_t length, bool *negative, uint64_t *out)
{
    size_t at = length > 0 && *line == '-' ? 1 : 0;
    length -= length > 0 && line[length - 1] == 'L';
    *negative = at == 1;
    *out = 0;
    for (size_t first = at; at < length; at++) {
        unsigned digit = (unsigned char)line[at] - (unsigned)'0';
        if (digit > 9 || at - first > 20 || __builtin_mul_overflow(*out, UINT64_C(10), out) ||
            __builtin_add_overflow(*out, (uint64_t)digit, out))
            return false;
    }
    return length > (size_t)*negative && (!*negative || *out <= UINT64_C(1) << 63);
}

/* "I01" and "I00" are True and False. */
static bool op_decimal(struct pickle *p, bool is_int)
{
    size_t length;
    bool negative;
    uint64_t number;
    const char *line = read_line(p, &length);
    if (!line)
        return false;
    if (is_int && length == 2 && *line == '0' && (line[1] == '0' || line[1] == '1'))
        return push(p, (struct pickle_value){.kind = PICKLE_BOOL, .number = line[1] == '1'});
    if (!parse_decimal(line, length, &negative, &number))
        return pickle_fail(p, "a number is not written as one, or has more than 64 bits");
    if (negative)
        return push_int(p, (int64_t)(0 - number));
    return number <= INT64_MAX
               ? push_int(p, (int64_t)number)
               : push(p, (struct pickle_value){.kind = PICKLE_UINT, .index = number});
}

static bool op_float(struct pickle *p)
{
    size_t length;
    char text[64] = "";
    struct pickle_value value = {.kind = PICKLE_FLOAT};
    const char *line = read_line(p, &length);
    if (!line)
        return false;
    if (length < sizeof text)
        memcpy(text, line, length);
    if (!number_parse(text, &value.real) && !number_named(text, &value.real))
        return pickle_fail(p, "a number is not written as one");
    return push(p, value);
}

/* Escapes (\u005c) stay as they are written. quoted: as Python 2 writes texts, 'so'. */
static bool op_text_line(struct pickle *p, bool quoted)
{
    size_t length;
    const char *line = read_line(p, &length);
    if (!line)
        return false;
    if (quoted && length >= 2 && (*line == '\'' || *line == '"') && line[length - 1] == *line) {
        line++;
        length -= 2;
    }
    if (length > UINT32_MAX)
        return pickle_fail(p, "a text is too long");
    return push(p,
                (struct pickle_value){.kind = PICKLE_TEXT,
                                      .name = (uint8_t)pickle_names_find(&p->names, line, length),
                                      .length = (uint32_t)length,
                                      .text = line});
}

static bool op_memo_line(struct pickle *p, bool set)
{
    size_t length;
    bool negative;
    uint64_t number;
    const char *line = read_line(p, &length);
    if (!line)
        return false;
    if (!parse_decimal(line, length, &negative, &number) || negative)
        return pickle_fail(p, "the number of a memo is not written as one");
    return set ? memo_set(p, number) : memo_get(p, number);
}

/* A run is worth its head for what begins a list, and for whole batches. */
#define RUN_LEAST 16

static bool can_be_run(const struct holder *holder, const struct pickle_value *values, size_t count)
{
    if (holder->last && count < RUN_LEAST)
        return false;
    EACH (value, values, count)
        if (value->kind != PICKLE_DICT)
            return false;
    return true;
}

/* The stack of each event is a list of its own, of the same few frames: those that hold the very
 * same dictionaries share one run. Two runs with one hash: the second is not shared. */
static bool find_run(struct pickle *p, const struct pickle_value *values, size_t count,
                     size_t *start)
{
    if (!array_room(p, &p->runs, count + RUN_HEAD, sizeof(uint32_t)))
        return false;
    if (p->runs.count + count + RUN_HEAD >= UINT32_MAX)
        return pickle_fail(p, "there are more lists and dictionaries than can be counted");
    uint32_t *runs = p->runs.data, *made = runs + p->runs.count + RUN_HEAD, found;
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        made[i] = (uint32_t)values[i].index;
        hash = (hash ^ made[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    bool known = addr_map_get(&p->run_of, hash, &found);
    if (known && runs[found - 1] == count &&
        memcmp(runs + found, made, count * sizeof *made) == 0) {
        *start = found;
        return true;
    }
    made[-RUN_HEAD] = 0;
    made[-1] = (uint32_t)count;
    *start = p->runs.count + RUN_HEAD;
    p->runs.count = *start + count;
    return known || pickle_run_index(p, hash, (uint32_t)*start);
}

static bool append_items(struct pickle *p, const struct pickle_value *values, size_t count,
                         size_t *start)
{
    if (!array_room(p, &p->items, count, sizeof *values))
        return false;
    *start = p->items.count;
    memcpy((struct pickle_value *)p->items.data + *start, values, count * sizeof *values);
    p->items.count += count;
    return true;
}

static bool append_values(struct pickle *p, struct holder *holder,
                          const struct pickle_value *values, size_t count)
{
    if (count == 0)
        return true;
    if (count > UINT32_MAX)
        return pickle_fail(p, "a list is too long");
    size_t start = 0;
    bool is_run = can_be_run(holder, values, count);
    if (!(is_run ? find_run(p, values, count, &start) : append_items(p, values, count, &start)))
        return false;
    struct piece *last = holder->last ? (struct piece *)p->pieces.data + holder->last - 1 : NULL;
    if (last && !is_run && !last->is_run && last->start + last->count == start &&
        last->count + (uint64_t)count <= UINT32_MAX) {
        last->count += (uint32_t)count;
        return true;
    }
    if (!array_room(p, &p->pieces, 1, sizeof(struct piece)))
        return false;
    if (p->pieces.count >= UINT32_MAX - 1)
        return pickle_fail(p, "there are more lists and dictionaries than can be counted");
    struct piece *pieces = p->pieces.data;
    if (!pieces)
        return false; /* never: there is room for one more */
    if (holder->last)
        pieces[holder->last - 1].next = (uint32_t)p->pieces.count + 1;
    else
        holder->first = (uint32_t)p->pieces.count + 1;
    pieces[p->pieces.count++] = (struct piece){
        .start = start & (UINT64_MAX >> 1), .is_run = is_run, .count = (uint32_t)count};
    holder->last = (uint32_t)p->pieces.count;
    return true;
}

static struct holder *holder_at(const struct pickle *p, struct pickle_value value)
{
    return (struct holder *)p->holders.data + value.index;
}

/* Finds what stands above the mark: start. The mark is gone after it. */
static bool to_mark(struct pickle *p, size_t *start)
{
    if (p->marks.count == 0)
        return pickle_fail(p, "it needs a mark, and there is none");
    *start = ((size_t *)p->marks.data)[--p->marks.count];
    return true;
}

static bool append_from(struct pickle *p, size_t start)
{
    struct pickle_value *stack = STACK(p);
    if (start <= floor_height(p) || stack[start - 1].kind != PICKLE_LIST)
        return pickle_fail(p, "it appends to what is no list");
    size_t count = p->stack.count - start;
    p->stack.count = start;
    return append_values(p, holder_at(p, stack[start - 1]), stack + start, count);
}

/* A new event for an empty dictionary whose first key is "action". */
static bool begin_event(struct pickle *p, struct holder *holder)
{
    if (p->events.count >= UINT32_MAX - 1)
        return pickle_fail(p, "there are more events than can be counted");
    if (!array_room(p, &p->events, 1, sizeof(struct pickle_event)))
        return false;
    if (p->dropped && p->at - p->dropped > PICKLE_DROP_BYTES)
        pickle_drop_read(p);
    struct pickle_event *events = p->events.data;
    events[p->events.count] = (struct pickle_event){0};
    *holder = (struct holder){.first = (uint32_t)p->events.count++, .last = HOLDER_EVENT};
    return true;
}

static bool set_from(struct pickle *p, size_t start)
{
    if (start <= floor_height(p) || STACK(p)[start - 1].kind != PICKLE_DICT)
        return pickle_fail(p, "it sets keys of what is no dictionary");
    struct pickle_value *values = STACK(p) + start;
    size_t count = p->stack.count - start;
    if (count % 2 != 0)
        return pickle_fail(p, "a key has no value");
    struct holder *holder = holder_at(p, values[-1]);
    p->stack.count = start;
    if (count > 0 && holder->last == 0 && values[0].kind == PICKLE_TEXT &&
        values[0].name == NAME_ACTION && !begin_event(p, holder))
        return false;
    if (holder->last != HOLDER_EVENT)
        return append_values(p, holder, values, count);
    struct pickle_event *event = (struct pickle_event *)p->events.data + holder->first;
    for (size_t i = 0; i < count; i += 2)
        if (!pickle_event_set(p, event, values[i], values[i + 1]))
            return false;
    return true;
}

/* Protocol 0 begins lists and dictionaries with a mark, and fills them later. */
static bool begin_holder(struct pickle *p, enum pickle_kind kind)
{
    size_t start = 0;
    if (!to_mark(p, &start))
        return false;
    return start == p->stack.count ? push_holder(p, kind)
                                   : pickle_fail(p, "a list or dictionary is not begun empty");
}

static bool tuple_from(struct pickle *p, size_t start)
{
    size_t count = p->stack.count - start;
    if (!push_holder(p, PICKLE_TUPLE))
        return false;
    struct pickle_value *values = STACK(p) + start;
    struct pickle_value tuple = values[count];
    if (!append_values(p, holder_at(p, tuple), values, count))
        return false;
    p->stack.count = start;
    return push(p, tuple);
}

static bool op_stop(struct pickle *p)
{
    if (p->stack.count != 1 || p->marks.count != 0)
        return pickle_fail(p, "it ends with %zu values instead of one", p->stack.count);
    p->root = STACK(p)[0];
    p->done = true;
    return true;
}

static bool op_mark(struct pickle *p)
{
    if (!array_room(p, &p->marks, 1, sizeof(size_t)))
        return false;
    ((size_t *)p->marks.data)[p->marks.count++] = p->stack.count;
    return true;
}

/* Runs one opcode; false: err was set. Inline, because a trace has a hundred million of them. */
static inline bool run_opcode(struct pickle *p, uint8_t opcode)
{
    uint64_t number = 0;
    size_t start = 0;
    switch (opcode) {
    case 0x80: /* PROTO */
        return op_proto(p);
    case 0x95: /* FRAME */
        return op_frame(p);
    case 0x94: /* MEMOIZE */
        return memo_set(p, p->memo.count);
    case 'q': /* BINPUT */
        return read_unsigned(p, 1, &number) && memo_set(p, number);
    case 'r': /* LONG_BINPUT */
        return read_unsigned(p, 4, &number) && memo_set(p, number);
    case 'h': /* BINGET */
        return read_unsigned(p, 1, &number) && memo_get(p, number);
    case 'j': /* LONG_BINGET */
        return read_unsigned(p, 4, &number) && memo_get(p, number);
    case '(': /* MARK */
        return op_mark(p);
    case 'N': /* NONE */
        return push(p, (struct pickle_value){.kind = PICKLE_NONE});
    case 0x88: /* NEWTRUE, NEWFALSE */
    case 0x89:
        return push(p, (struct pickle_value){.kind = PICKLE_BOOL, .number = opcode == 0x88});
    case 'J': /* BININT */
        return read_unsigned(p, 4, &number) && push_int(p, (int32_t)(uint32_t)number);
    case 'K': /* BININT1 */
        return read_unsigned(p, 1, &number) && push_int(p, (int64_t)number);
    case 'M': /* BININT2 */
        return read_unsigned(p, 2, &number) && push_int(p, (int64_t)number);
    case 0x8a: /* LONG1 */
        return op_long1(p);
    case 'G': /* BINFLOAT */
        return op_binfloat(p);
    case 0x8c: /* SHORT_BINUNICODE */
        return read_unsigned(p, 1, &number) && push_text(p, number);
    case 'X': /* BINUNICODE */
        return read_unsigned(p, 4, &number) && push_text(p, number);
    case ']': /* EMPTY_LIST */
        return push_holder(p, PICKLE_LIST);
    case '}': /* EMPTY_DICT */
        return push_holder(p, PICKLE_DICT);
    case ')': /* EMPTY_TUPLE */
        return push_holder(p, PICKLE_TUPLE);
    case 'a': /* APPEND */
        return has(p, 2) && append_from(p, p->stack.count - 1);
    case 'e': /* APPENDS */
        return to_mark(p, &start) && append_from(p, start);
    case 's': /* SETITEM */
        return has(p, 3) && set_from(p, p->stack.count - 2);
    case 'u': /* SETITEMS */
        return to_mark(p, &start) && set_from(p, start);
    case 't': /* TUPLE */
        return to_mark(p, &start) && tuple_from(p, start);
    case 0x85: /* TUPLE1, TUPLE2, TUPLE3 */
    case 0x86:
    case 0x87:
        return has(p, opcode - 0x84U) && tuple_from(p, p->stack.count - (opcode - 0x84U));
    case 'p': /* PUT, GET */
    case 'g':
        return op_memo_line(p, opcode == 'p');
    case 'I': /* INT, LONG */
    case 'L':
        return op_decimal(p, opcode == 'I');
    case 'F': /* FLOAT */
        return op_float(p);
    case 'V': /* UNICODE, STRING */
    case 'S':
        return op_text_line(p, opcode == 'S');
    case 'U': /* SHORT_BINSTRING */
        return read_unsigned(p, 1, &number) && push_text(p, number);
    case 'T': /* BINSTRING */
        return read_unsigned(p, 4, &number) && push_text(p, number);
    case 'd': /* DICT, LIST */
    case 'l':
        return begin_holder(p, opcode == 'd' ? PICKLE_DICT : PICKLE_LIST);
    case '.': /* STOP */
        return op_stop(p);
    default:
        return pickle_refuse(p);
    }
}

bool pickle_run(struct pickle *p)
{
    while (!p->done) {
        p->opcode = p->at;
        if (p->at == p->end)
            return pickle_fail(p, "the file ends before its last opcode (STOP): it is cut short, "
                                  "or still being written");
        if (!run_opcode(p, *p->at++))
            return false;
    }
    return true;
}
