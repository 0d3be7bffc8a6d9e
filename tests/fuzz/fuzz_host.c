/* Any bytes read as the kernel's files on load, use and devices: the first byte says which. */
#include "base/cpus.h"
#include "fuzz.h"
#include "machine/sensors/host_parse.h"
#include "machine/sensors/rapl.h"
#include "machine/sensors/sysfs.h"

static void load(const char *bytes, size_t count)
{
    struct host_cpu cpu;
    if (host_cpu_parse(bytes, count, &cpu))
        check(cpu.cpus > 0 && cpu.cpus <= count / 4 && cpu.busy_ticks / 5 <= UINT64_MAX / 16);
}

static void pressure(const char *bytes, size_t count)
{
    struct host_pressure read;
    if (host_pressure_parse(bytes, count, &read))
        check((read.some_s.valid && read.some_s.value >= 0) ||
              (read.full_s.valid && read.full_s.value >= 0));
}

static void devices(const char *bytes, size_t count)
{
    const char *at = bytes, *end = bytes + count;
    struct host_device_io io;
    size_t lines = 0;
    while (host_device_io_next(&at, end, &io))
        lines++;
    check(at == end && lines <= count / 16 + 1);
}

static void process(const char *bytes, size_t count)
{
    uint64_t first = 0, second = 0;
    host_statm_parse(bytes, count, &first);
    host_io_parse(bytes, count, &first, &second);
}

static void sysfs(const char *bytes, size_t count)
{
    struct cpus cpus, again;
    uint64_t number = 0;
    if (cpus_parse(bytes, count, &cpus)) {
        AUTO_TEXT struct text list = {0};
        cpus_print(&cpus, &list);
        check(cpus_parse(text_get(&list), list.length, &again) && cpus_equal(&cpus, &again));
    }
    if (sysfs_number_parse(bytes, count, &number))
        check(count > 0 && count <= 4096 * 4096);
    if (sysfs_event_parse(bytes, count, &number))
        check(count >= 9 && count <= 25);
}

/* Readings of a counter, eight bytes each, an hour apart at most. */
static void counter(const char *bytes, size_t count)
{
    struct rapl_track wrapping = {.range_uj = 262143328850}, endless = {0};
    struct rapl_reading reading;
    int64_t at_ns = 0;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t raw_uj = 0;
        memcpy(&raw_uj, bytes, 8);
        raw_uj >>= 2; /* a count in microjoules stays far below 2^62 */
        at_ns += (int64_t)(raw_uj % 3600) * 1000000000;
        uint64_t before_uj = wrapping.energy_uj;
        rapl_follow(&wrapping, raw_uj, at_ns, &reading);
        check(reading.valid &&
              (reading.restarted || reading.energy_uj >= before_uj || before_uj == 0));
        rapl_follow(&endless, raw_uj, at_ns, &reading);
        check(reading.valid && !reading.gap);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_parser *const parsers[] = {load, pressure, devices, process, sysfs, counter};
    return fuzz_one_of(data, size, parsers, sizeof parsers / sizeof *parsers);
}
