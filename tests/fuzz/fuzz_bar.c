/* Any line, and any text as lines of one log: bars hold what they promise, however they are cut. */
#include "fuzz.h"
#include "run/log/bar.h"

#include <math.h>

static void check_bar(const struct bar *bar)
{
    check(strlen(bar->name) < BAR_NAME_MAX && fuzz_is_legible(bar->name));
    check(isfinite(bar->done) && bar->done >= 0);
    check(!bar->total.valid ||
          (isfinite(bar->total.value) && bar->total.value > 0 && bar->done <= bar->total.value));
}

static void one_line(const char *bytes, size_t count)
{
    struct bar bar;
    if (bar_parse(bytes, count, &bar))
        check_bar(&bar);
}

static void lines(const char *bytes, size_t count)
{
    struct bars bars = {0};
    for (const char *at = bytes, *end = bytes + count; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        uint64_t before = bars.changes;
        bars_update(&bars, at, (size_t)((stop ? stop : end) - at));
        check(bars.changes - before <= 1 && bars.count <= BARS_MAX &&
              (bars.count == 0 || bars.latest < bars.count));
        at = stop ? stop + 1 : end;
    }
    for (size_t i = 0; i < bars.count; i++)
        check_bar(&bars.items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_parser *const parsers[] = {one_line, lines};
    return fuzz_one_of(data, size, parsers, sizeof parsers / sizeof *parsers);
}
