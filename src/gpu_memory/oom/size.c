#include "gpu_memory/oom/size.h"

#include "base/ascii.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { DIGITS_MAX = 25, DECIMALS_MAX = 9 };

static const struct {
    const char *name;
    uint64_t unit, least; /* of the least that people mean by it */
} units[] = {
    {"bytes", 1, 1},
    {"Bytes", 1, 1},
    {"KiB", UINT64_C(1) << 10, UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20, UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30, UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40, UINT64_C(1) << 40},
    {"KB", UINT64_C(1) << 10, 1000},
    {"kB", UINT64_C(1) << 10, UINT64_C(1) << 10}, /* the kernel */
    {"MB", UINT64_C(1) << 20, 1000000},
    {"GB", UINT64_C(1) << 30, 1000000000},
    {"TB", UINT64_C(1) << 40, 1000000000000},
    {"B", 1, 1},
};

struct decimal {
    wide digits;   /* without its point */
    wide scale;    /* 10 to the number of decimals */
    size_t length; /* of its text; 0: it is none */
};

static struct decimal parse_size_decimal(const char *text, size_t length)
{
    struct decimal number = {.scale = 1};
    size_t digits = 0, decimals = 0, i = 0;
    bool point = false;
    for (; i < length; i++) {
        if (text[i] == '.' && !point && i > 0 && i + 1 < length && ascii_is_digit(text[i + 1])) {
            point = true;
        } else if (ascii_is_digit(text[i])) {
            if (++digits > DIGITS_MAX || (point && ++decimals > DECIMALS_MAX))
                return (struct decimal){0};
            number.digits = number.digits * 10 + (unsigned char)(text[i] - '0');
            number.scale *= point ? (wide)10 : (wide)1;
        } else if (text[i] != ',' || point || i == 0 || i + 3 >= length ||
                   !ascii_is_digit(text[i + 1])) {
            break;
        }
    }
    number.length = digits > 0 ? i : 0;
    return number;
}

static uint64_t clip(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Rounded figures may be off by half a unit of the last decimal; bytes are exact. */
static struct oom_size make_oom_size(const struct decimal *number, uint64_t unit, uint64_t least)
{
    wide twice = number->digits * 2, below = twice > 0 ? twice - 1 : 0;
    wide nominal = (twice * unit / number->scale + 1) / 2;
    /* The driver says so of what it does not know: (size_t)-1, less or more rounding. */
    struct oom_size size = {.bytes = clip(nominal), .valid = nominal < (wide)1 << 63};
    bool exact = unit == 1 && number->scale == 1;
    size.low =
        exact ? size.bytes : clip((below * least + 2 * number->scale - 1) / (2 * number->scale));
    size.high = exact ? size.bytes : clip((twice + 1) * unit / (2 * number->scale));
    /* No whole number of bytes may print so: "15.98B". */
    size.low = size.low < size.bytes ? size.low : size.bytes;
    size.high = size.high > size.bytes ? size.high : size.bytes;
    return size;
}

size_t oom_size_read(const char *text, size_t length, struct oom_size *out)
{
    struct decimal number = parse_size_decimal(text, length);
    *out = (struct oom_size){0};
    for (size_t i = 0; number.length > 0 && i < sizeof units / sizeof *units; i++) {
        size_t name = strlen(units[i].name);
        /* numpy: "116. GiB" */
        size_t at = number.length + (number.length < length && text[number.length] == '.');
        if (length - at < name || memcmp(text + at, units[i].name, name) != 0)
            continue;
        *out = make_oom_size(&number, units[i].unit, units[i].least);
        return at + name;
    }
    return 0;
}

struct oom_size oom_size_of(uint64_t bytes)
{
    return (struct oom_size){bytes, bytes, bytes, true};
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

struct oom_size oom_size_add(struct oom_size a, struct oom_size b)
{
    if (!a.valid || !b.valid)
        return (struct oom_size){0};
    return (struct oom_size){plus(a.bytes, b.bytes), plus(a.low, b.low), plus(a.high, b.high),
                             true};
}

struct oom_size oom_size_sub(struct oom_size a, struct oom_size b)
{
    if (!a.valid || !b.valid)
        return (struct oom_size){0};
    return (struct oom_size){minus(a.bytes, b.bytes), minus(a.low, b.high), minus(a.high, b.low),
                             true};
}

struct oom_size oom_size_min(struct oom_size a, struct oom_size b)
{
    if (!a.valid || !b.valid)
        return a.valid ? a : b;
    return a.bytes <= b.bytes ? a : b;
}

enum oom_sure oom_size_covers(struct oom_size a, struct oom_size b)
{
    if (!a.valid || !b.valid)
        return OOM_UNSURE;
    if (a.low >= b.high)
        return OOM_YES;
    return a.high < b.low ? OOM_NO : OOM_UNSURE;
}

void oom_size_add_text(struct oom_size size, struct text *out)
{
    static const char *const names[] = {"KiB", "MiB", "GiB"};
    const uint64_t gib = UINT64_C(1) << 30;
    uint64_t unit = UINT64_C(1) << 10;
    int which = 0;
    if (size.high - size.low >= UINT64_C(1) << 20) {
        text_addf(out, "%.2f GiB", (double)size.bytes / (double)gib);
        return;
    }
    if (size.bytes <= unit) {
        text_addf(out, "%llu bytes", (unsigned long long)size.bytes);
        return;
    }
    for (; which < 2 && size.bytes > unit << 10; which++)
        unit <<= 10;
    text_addf(out, "%.2f %s", (double)size.bytes / (double)unit, names[which]);
}
