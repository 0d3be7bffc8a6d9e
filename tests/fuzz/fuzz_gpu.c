/* Any bytes read as what the driver says of a GPU, as a lock's holder, as the names of holders, as
 * CUDA_VISIBLE_DEVICES: the first byte says which. */
#include "fuzz.h"
#include "machine/gpu/holder.h"
#include "machine/gpu/vendor.h"
#include "machine/gpu/visible.h"

static void check_printable(const char *text, size_t size)
{
    check(strlen(text) < size);
    check(fuzz_is_legible(text));
}

static void information(const char *bytes, size_t count)
{
    struct gpu_device device;
    if (!nvidia_information_parse(bytes, count, &device))
        return;
    check_printable(device.model, sizeof device.model);
    check_printable(device.uuid, sizeof device.uuid);
    check_printable(device.bus, sizeof device.bus);
    check_printable(device.firmware, sizeof device.firmware);
    /* They become names of files. */
    check(!strchr(device.uuid, '/') && !strchr(device.bus, '/') && device.bus[0] != '.');
    check(device.minor >= -1 && device.minor <= 255);
}

static void check_text(const char *text)
{
    check(memchr(text, '\0', GPU_HOLDER_TEXT_SIZE) != NULL);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        check(*c >= ' ' && *c != 0x7F);
}

/* What was read and written again reads the same. */
static void holder(const char *bytes, size_t count)
{
    struct gpu_holder once, twice;
    AUTO_TEXT struct text line = {0};
    if (!gpu_holder_parse(bytes, count, &once))
        return;
    check(once.pid >= 0 && once.since_s >= 0);
    check_text(once.user);
    check_text(once.host);
    check_text(once.run);
    gpu_holder_print(&once, &line);
    check(gpu_holder_parse(line.data, line.length, &twice));
    check(once.pid == twice.pid && once.start_time == twice.start_time &&
          once.pid_namespace == twice.pid_namespace && once.since_s == twice.since_s);
    check(strcmp(once.user, twice.user) == 0 && strcmp(once.host, twice.host) == 0 &&
          strcmp(once.run, twice.run) == 0);
}

static void names(const char *bytes, size_t count)
{
    struct gpu_holder once[4], twice[4];
    AUTO_TEXT struct text text = {0}, again = {0};
    text_add_bytes(&text, bytes, strnlen(bytes, count));
    size_t found = gpu_holder_parse_names(text_get(&text), once, 4);
    check(found <= 4);
    gpu_holder_print_names(once, found, &again);
    check(gpu_holder_parse_names(text_get(&again), twice, 4) == found);
    for (size_t i = 0; i < found; i++)
        check(gpu_holder_same(&once[i], &twice[i]));
}

static void visible(const char *bytes, size_t count)
{
    static struct gpu_device items[] = {
        {.vendor = &gpu_vendor_nvidia,
         .uuid = "GPU-73fe8c24-959a",
         .bus = "0000:01:00.0",
         .model = "A"},
        {.vendor = &gpu_vendor_nvidia, .uuid = "", .bus = "0000:02:00.0", .model = "A"},
        {.vendor = &gpu_vendor_nvidia,
         .uuid = "GPU-2565a174-13ab",
         .bus = "0000:03:00.0",
         .model = "B"},
        {.vendor = &gpu_vendor_nvidia,
         .uuid = "GPU-73ffffff-0000",
         .bus = "0000:04:00.0",
         .model = "A",
         .excluded = true},
    };
    const struct gpu_devices devices = {.items = items, .count = 4};
    AUTO_TEXT struct text text = {0};
    struct gpu_visible out;
    text_add_bytes(&text, bytes, strnlen(bytes, count));
    gpu_visible_find(&gpu_vendor_nvidia, &devices, text_get(&text), NULL, &out);
    check(out.count <= 3);
    for (size_t i = 0; i < out.count; i++) {
        check(out.items[i] < 3);
        for (size_t j = 0; j < i; j++)
            check(out.items[i] != out.items[j]);
    }
    gpu_visible_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_parser *const parsers[] = {information, holder, names, visible};
    return fuzz_one_of(data, size, parsers, sizeof parsers / sizeof *parsers);
}
