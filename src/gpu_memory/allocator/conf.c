#include "gpu_memory/allocator/conf.h"

#include "base/mem.h"
#include "base/procfs.h"
#include "base/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct alloc_settings conf_default(void)
{
    return (struct alloc_settings){.max_split_bytes = UINT64_MAX};
}

/* Whole numbers in decimal, up to most. */
static bool whole(const char *text, uint64_t most, uint64_t *out)
{
    return proc_number_parse(text, strlen(text), most, out);
}

static bool parse_expandable(char *value, struct alloc_settings *out, struct err *err)
{
    out->expandable = strcasecmp(value, "true") == 0;
    return out->expandable || strcasecmp(value, "false") == 0 ||
           err_set(err, "expandable_segments:%s: it is True or False", value);
}

static bool set_max_split(char *value, struct alloc_settings *out, struct err *err)
{
    uint64_t mib;
    if (!whole(value, UINT64_MAX >> 20, &mib) || mib <= 20)
        return err_set(err, "max_split_size_mb:%s: it is an integer above 20, in MiB", value);
    out->max_split_bytes = mib << 20;
    return true;
}

static bool set_gc(char *value, struct alloc_settings *out, struct err *err)
{
    double threshold;
    if (!number_parse(value, &threshold) || threshold <= 0 || threshold >= 1)
        return err_set(err, "garbage_collection_threshold:%s: it lies between 0 and 1", value);
    out->gc_threshold = threshold;
    return true;
}

static bool parse_divisions(const char *value, uint32_t *out, struct err *err)
{
    uint64_t divisions;
    if (!whole(value, 1 << 20, &divisions) || (divisions & (divisions - 1)) != 0)
        return err_set(err, "roundup_power2_divisions:%s: it is a power of 2 (or 0)", value);
    *out = (uint32_t)divisions;
    return true;
}

static size_t class_of_mib(uint64_t mib)
{
    size_t place = 0;
    while (mib > 1 && place < CONF_CLASSES - 1) {
        mib >>= 1;
        place++;
    }
    return place;
}

/* "256:1,512:2,>:4": from each class on until the next; ">" means all above the last. */
static bool set_division_list(char *list, struct alloc_settings *out, struct err *err)
{
    char *rest = NULL;
    size_t from = 0;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *colon = strchr(item, ':');
        uint64_t mib = 0;
        uint32_t divisions = 0;
        if (!colon)
            return err_set(err, "roundup_power2_divisions: '%s' is not SIZE:DIVISIONS", item);
        *colon = '\0';
        bool above = strcmp(item, ">") == 0;
        if (!above && (!whole(item, UINT32_MAX, &mib) || mib == 0 || (mib & (mib - 1)) != 0))
            return err_set(err, "roundup_power2_divisions: '%s' is no power of 2 (in MiB)", item);
        if (!parse_divisions(colon + 1, &divisions, err))
            return false;
        size_t to = above ? CONF_CLASSES - 1 : class_of_mib(mib);
        for (size_t place = from; place <= to; place++)
            if (above || place == to || from == 0)
                out->divisions[place] = divisions;
        from = to + 1;
    }
    return true;
}

static bool set_divisions(char *value, struct alloc_settings *out, struct err *err)
{
    size_t length = strlen(value);
    if (value[0] == '[' && length >= 2 && value[length - 1] == ']') {
        value[length - 1] = '\0';
        return set_division_list(value + 1, out, err);
    }
    uint32_t divisions = 0;
    if (!parse_divisions(value, &divisions, err))
        return false;
    EACH (division, out->divisions, CONF_CLASSES)
        *division = divisions;
    return true;
}

static bool set_backend(char *value, struct alloc_settings *out, struct err *err)
{
    (void)out;
    return strcmp(value, "native") == 0 ||
           err_set(err, "backend:%s: only PyTorch's own allocator (native) is modelled", value);
}

static bool set_one(char *item, struct alloc_settings *out, struct err *err)
{
    static const struct {
        const char *name;
        bool (*set)(char *value, struct alloc_settings *out, struct err *err);
    } settings[] = {{"expandable_segments", parse_expandable},
                    {"max_split_size_mb", set_max_split},
                    {"garbage_collection_threshold", set_gc},
                    {"roundup_power2_divisions", set_divisions},
                    {"backend", set_backend}};
    static const char *const beside[] = {
        "pinned_use_cuda_host_register",     "pinned_num_register_threads",
        "pinned_use_background_threads",     "pinned_reserve_segment_size_mb",
        "release_lock_on_cudamalloc",        "release_lock_on_hipmalloc",
        "graph_capture_record_stream_reuse", "pinned_max_register_threads",
        "per_process_memory_fraction",       NULL};
    char *colon = strchr(item, ':');
    if (!colon)
        return err_set(err, "'%s' is not NAME:VALUE", item);
    *colon = '\0';
    EACH_OF (setting, settings)
        if (strcmp(item, setting->name) == 0)
            return setting->set(colon + 1, out, err);
    for (size_t i = 0; beside[i]; i++)
        if (strcmp(item, beside[i]) == 0)
            return true;
    return err_set(err,
                   "there is no setting '%s'; expandable_segments, max_split_size_mb, "
                   "roundup_power2_divisions and "
                   "garbage_collection_threshold can be tried",
                   item);
}

/* The comma that ends the item, or its NUL; those within brackets belong to it. */
static char *item_end(char *at)
{
    int depth = 0;
    for (; *at && (*at != ',' || depth > 0); at++)
        depth += (*at == '[') - (*at == ']');
    return at;
}

bool conf_parse(const char *conf, struct alloc_settings *out, struct err *err)
{
    AUTO_FREE char *copy = mem_alloc(strlen(conf) + 1);
    size_t length = 0;
    for (const char *c = conf; *c; c++)
        if (!isspace((unsigned char)*c))
            copy[length++] = *c;
    *out = conf_default();
    for (char *item = copy; *item;) {
        char *end = item_end(item);
        bool last = *end == '\0';
        *end = '\0';
        if (*item && !set_one(item, out, err))
            return false;
        item = last ? end : end + 1;
    }
    return true;
}

static void add_item(struct text *out, size_t from)
{
    if (out->length > from)
        text_add_char(out, ',');
}

static void add_divisions(const struct alloc_settings *settings, struct text *out)
{
    size_t i = 1;
    while (i < CONF_CLASSES && settings->divisions[i] == settings->divisions[0])
        i++;
    text_add(out, "roundup_power2_divisions:");
    if (i == CONF_CLASSES) {
        text_addf(out, "%" PRIu32, settings->divisions[0]);
        return;
    }
    for (i = 0; i < CONF_CLASSES; i++)
        text_addf(out, "%s%u:%" PRIu32, i ? "," : "[", 1U << i, settings->divisions[i]);
    text_add(out, "]");
}

void conf_text(const struct alloc_settings *settings, struct text *out)
{
    size_t from = out->length;
    char number[32];
    bool divided = false;
    EACH (division, settings->divisions, CONF_CLASSES)
        divided = divided || *division > 1;
    if (settings->expandable)
        text_add(out, "expandable_segments:True");
    if (settings->max_split_bytes != UINT64_MAX) {
        add_item(out, from);
        text_addf(out, "max_split_size_mb:%" PRIu64, settings->max_split_bytes >> 20);
    }
    if (divided) {
        add_item(out, from);
        add_divisions(settings, out);
    }
    if (settings->gc_threshold > 0) {
        add_item(out, from);
        number_shortest(settings->gc_threshold, number);
        text_addf(out, "garbage_collection_threshold:%s", number);
    }
}

bool conf_equal(const struct alloc_settings *a, const struct alloc_settings *b)
{
    return a->expandable == b->expandable && a->max_split_bytes == b->max_split_bytes &&
           a->gc_threshold == b->gc_threshold &&
           memcmp(a->divisions, b->divisions, sizeof a->divisions) == 0;
}
