#include "gpu_memory/oom/message.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "gpu_memory/oom/size.h"

#include <string.h>
#include <strings.h>

const char *oom_figure_name(enum oom_figure figure)
{
    static const char *const names[OOM_FIGURES] = {
        [OOM_REQUESTED] = "requested",
        [OOM_TOTAL] = "total",
        [OOM_FREE] = "free",
        [OOM_OWN] = "this_process",
        [OOM_ALLOWED] = "allowed",
        [OOM_ALLOCATED] = "allocated",
        [OOM_UNALLOCATED] = "reserved_unallocated",
        [OOM_PRIVATE] = "private_pools",
        [OOM_RESERVED] = "reserved",
    };
    return names[figure];
}

enum { STATS_LINES = 40 };

/* The words around a size say what it is. All rows: PyTorch's source from 1.0 to 2.11
 * (CUDACachingAllocator.cpp, CUDAMallocAsyncAllocator.cpp), XLA's bfc_allocator.cc, CuPy's
 * memory.pyx, and the same as people put it into lists. */
static const struct clause {
    const char *before, *behind; /* "": anything */
    enum oom_figure figure;
} clauses[] = {
    {"triedtoallocate", "", OOM_REQUESTED},
    {"triedtoallocate:", "", OOM_REQUESTED},
    {"tryingtoallocate", "", OOM_REQUESTED},
    {"outofmemoryallocating", "", OOM_REQUESTED},
    {"requested:", "", OOM_REQUESTED},
    {"(", ")fromdevice",
     OOM_REQUESTED}, /* TensorFlow: "failed to allocate 2.00G (2147483648 bytes) from device" */
    {"totalcapacityof", "", OOM_TOTAL},
    {"totalcapactyof", "", OOM_TOTAL}, /* 2.1 spells it so */
    {"", "totalcapacity", OOM_TOTAL},
    {"capacity:", "", OOM_TOTAL},
    {"devicelimit:", "", OOM_TOTAL},
    {"ofwhich", "isfree", OOM_FREE},
    {"", "free", OOM_FREE},
    {"free:", "", OOM_FREE},
    {"free(accordingtocuda):", "", OOM_FREE},
    {"thisprocesshas", "memoryinuse", OOM_OWN},
    {"inusebyprocess:", "", OOM_OWN},
    {"inusebythisprocess:", "", OOM_OWN},
    {"", "allowed", OOM_ALLOWED},
    {"allowed:", "", OOM_ALLOWED},
    {"memoryfraction):", "", OOM_ALLOWED},
    {"limitsetto:", "", OOM_ALLOWED},
    {"", "isallocatedbypytorch", OOM_ALLOCATED},
    {"", "alreadyallocated", OOM_ALLOCATED},
    {"allocatedbypytorch:", "", OOM_ALLOCATED},
    {"alreadyallocated:", "", OOM_ALLOCATED},
    {"currentlyallocated:", "", OOM_ALLOCATED},
    {"", "isreservedbypytorchbutunallocated", OOM_UNALLOCATED},
    {"reservedbypytorchbutunallocated:", "", OOM_UNALLOCATED},
    {"reservedbutunallocated:", "", OOM_UNALLOCATED},
    {"", "allocatedinprivatepools", OOM_PRIVATE},
    {"privatepools:", "", OOM_PRIVATE},
    {"", "reservedintotalbypytorch", OOM_RESERVED},
    /* 1.0 to 1.3: "memory held by the allocator but not used by the program" (pytorch/pytorch pull
     * request 13751, which brought the message), not all that is reserved. 1.4 replaced it by
     * "reserved in total". */
    {"", "cached", OOM_UNALLOCATED},
    {"cached:", "", OOM_UNALLOCATED},
    {"reservedintotalbypytorch:", "", OOM_RESERVED},
    {"reservedbypytorch:", "", OOM_RESERVED},
    {"reservedintotal:", "", OOM_RESERVED},
    {"allocatedsofar:", "", OOM_RESERVED},        /* CuPy: all that its pool has from the driver */
    {"outofmemorytoallocate", "", OOM_REQUESTED}, /* CuPy below 8 */
    {"bytes(total", "", OOM_RESERVED},
    {"failedtoallocaterequestfor", "", OOM_REQUESTED},
    {"totalallocation:", "", OOM_OWN}, /* XLA: all that the program would need */
    {"maxallowed:", "", OOM_ALLOWED},  /* MPS */
    {"mpsallocated:", "", OOM_ALLOCATED},
    {"", "kvcacheisneeded", OOM_REQUESTED}, /* vLLM */
    {"availablekvcachememory(", "", OOM_FREE},
    {"allocating", "ondevice", OOM_REQUESTED},        /* ggml */
    {"cannotallocate", "memoryongpu", OOM_REQUESTED}, /* Paddle */
    {"availablememoryisonly", "", OOM_FREE},
    {"", "memoryhasbeenallocated~", OOM_ALLOCATED},
    {"calloc", "", OOM_REQUESTED},                       /* NCCL */
    {"amountofgpumemory(", ")couldnot~", OOM_REQUESTED}, /* TensorRT */
    {"devicerequest:", "available", OOM_REQUESTED},
    {"available:", "", OOM_FREE},
    {"failedtoalloc", "onhost", OOM_REQUESTED},         /* TensorFlow */
    {"unabletoallocate", "foranarray~", OOM_REQUESTED}, /* numpy */
    {"can'tallocate", "ofmemory~", OOM_REQUESTED},      /* ggml on SYCL */
    {"invalidbuffersize:", "", OOM_REQUESTED},          /* MPS */
    {"allocatetensorwith", "", OOM_REQUESTED},          /* DirectML */
    {"buffer,size=", "", OOM_REQUESTED},                /* ggml on Metal */
    {"error(failedtoallocate", "", OOM_REQUESTED},      /* RMM */
    {"memoryallocationof", "failed~", OOM_REQUESTED},   /* Rust */
    {"moresystemmemory(", "", OOM_REQUESTED},           /* ollama */
    {"thanisavailable(", "", OOM_FREE},
    {"cannotallocate", "", OOM_REQUESTED},  /* bash */
    {"utilization(#,", ")", OOM_REQUESTED}, /* vLLM */
    {"wasrunningwas#gb/", "", OOM_TOTAL},   /* Ray */
    {"kb,limit", ",failcnt", OOM_TOTAL},    /* the kernel, of a cgroup */
};

/* Numbers of bytes without a unit. */
static const struct clause plain_clauses[] = {
    {"bufferofsize", "", OOM_REQUESTED}, /* ONNX Runtime, ggml */
    {"allocationofsize", "", OOM_REQUESTED},
    {"memoryofsize:", "", OOM_REQUESTED}, /* TensorFlow, pinned */
    {"totalmemoryreported:", "", OOM_TOTAL},
    {"required:", "", OOM_REQUESTED}, /* Triton */
    {"hardwarelimit:", "", OOM_TOTAL},
    {"hostallocationofsize", "failed~", OOM_REQUESTED}, /* Caffe */
    {"needmemory:", "", OOM_REQUESTED},                 /* darknet */
    {"available:", "", OOM_FREE},
};

struct words {
    const char *text;
    size_t length;
};

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* '#' is a number. */
static bool words_end_with(struct words words, const char *end)
{
    size_t i = words.length, k = strlen(end);
    for (; k > 0; k--) {
        if (end[k - 1] == '#') {
            size_t before = i;
            while (i > 0 && (ascii_is_digit(words.text[i - 1]) || words.text[i - 1] == '.'))
                i--;
            if (i == before)
                return false;
        } else if (i == 0 || (words.text[--i] | 0x20) != (end[k - 1] | 0x20)) {
            return false;
        }
    }
    return true;
}

/* And no longer word begins so: "free" is not "freed"; with '~' any may. */
static bool begins_with(struct words words, const char *begin)
{
    size_t length = strlen(begin);
    bool any = length > 0 && begin[length - 1] == '~';
    length -= any;
    return length <= words.length && strncasecmp(words.text, begin, length) == 0 &&
           (any || length == 0 || length == words.length || !is_ascii_letter(words.text[length]));
}

/* "Process968has" in front of "520.00MiBmemoryinuse", or "Process968:" in a list: the pid, or
 * -1. */
static int64_t process_before(struct words before, struct words behind)
{
    static const char name[] = "process";
    struct words rest = before;
    bool sentence = words_end_with(rest, "has") && begins_with(behind, "memoryinuse");
    if (!sentence && !words_end_with(rest, ":"))
        return -1;
    rest.length -= sentence ? 3 : 1;
    size_t end = rest.length;
    int64_t pid = 0, place = 1;
    for (; rest.length > 0 && ascii_is_digit(rest.text[rest.length - 1]) && end - rest.length < 10;
         place *= 10)
        pid += (rest.text[--rest.length] - '0') * place;
    return rest.length < end && words_end_with(rest, name) ? pid : -1;
}

static bool add_message_process(struct words before, struct words behind, struct oom_size size,
                                struct oom *out)
{
    int64_t pid = process_before(before, behind);
    if (pid < 0)
        return false;
    EACH (process, out->processes, out->process_count)
        if (process->pid == pid)
            return false;
    if (out->process_count < OOM_PROCESSES_MAX)
        out->processes[out->process_count++] = (struct oom_process){pid, size};
    else
        out->processes_left_out++;
    return true;
}

/* What was said once stays. */
static bool assign_clause(const struct clause *rows, size_t count, struct words before,
                          struct words behind, struct oom_size size, struct oom *out)
{
    EACH (clause, rows, count) {
        if (!words_end_with(before, clause->before) || !begins_with(behind, clause->behind))
            continue;
        if (out->of[clause->figure].valid || !size.valid)
            return false;
        out->of[clause->figure] = size;
        return true;
    }
    return false;
}

static bool assign_size(struct words before, struct words behind, struct oom_size size,
                        struct oom *out)
{
    return add_message_process(before, behind, size, out) ||
           assign_clause(clauses, sizeof clauses / sizeof *clauses, before, behind, size, out);
}

/* Larger numbers are not sizes: no machine has that much. */
#define PLAIN_MOST (UINT64_C(1) << 56)

static size_t read_unitless_bytes(struct words front, struct words rest, struct oom *out)
{
    size_t digits = 0;
    uint64_t number = 0;
    for (; digits < rest.length && digits < 20 && ascii_is_digit(rest.text[digits]); digits++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(rest.text[digits] - '0'), &number))
            return 0;
    struct words behind = {rest.text + digits, rest.length - digits};
    if (number > PLAIN_MOST ||
        (behind.length > 1 && behind.text[0] == '.' && ascii_is_digit(behind.text[1])) ||
        !assign_clause(plain_clauses, sizeof plain_clauses / sizeof *plain_clauses, front, behind,
                       oom_size_of(number), out))
        return 0;
    return digits;
}

/* "(19.71/22.05GiB)onstartup": the unit is printed once. */
static size_t read_free_of_total(struct words front, struct words rest, struct oom *out)
{
    struct oom_size free, total;
    char text[32];
    size_t first = 0;
    while (first < rest.length && (ascii_is_digit(rest.text[first]) || rest.text[first] == '.'))
        first++;
    if (!words_end_with(front, "(") || first == rest.length || rest.text[first] != '/')
        return 0;
    size_t second = oom_size_read(rest.text + first + 1, rest.length - first - 1, &total);
    struct words behind = {rest.text + first + 1 + second, rest.length - first - 1 - second};
    size_t digits = 0;
    while (digits < second && strchr("0123456789.", rest.text[first + 1 + digits]))
        digits++;
    size_t unit = second - digits;
    if (second == 0 || !begins_with(behind, ")onstartup~") || first + unit >= sizeof text)
        return 0;
    memcpy(text, rest.text, first);
    memcpy(text + first, rest.text + first + 1 + digits, unit);
    if (oom_size_read(text, first + unit, &free) == 0 || out->of[OOM_FREE].valid)
        return 0;
    out->of[OOM_FREE] = free;
    out->of[OOM_TOTAL] = total;
    return first + 1 + second;
}

/* Not amid one: "139.80", "8,000"; but a sentence may end in front of it: "in use. 2.50 GiB". */
static bool begins_number(const char *squeezed, size_t i)
{
    char before = i > 0 ? squeezed[i - 1] : ' ';
    bool parted = before == '.' || before == ',';
    if (words_end_with((struct words){squeezed, i}, "memoryutilization(#,"))
        return ascii_is_digit(squeezed[i]);
    return ascii_is_digit(squeezed[i]) && !ascii_is_digit(before) &&
           !(parted && i > 1 && ascii_is_digit(squeezed[i - 2]));
}

size_t message_scan(const char *squeezed, size_t length, size_t *from, struct oom *out)
{
    size_t found = 0;
    for (size_t i = *from; i < length; i++) {
        if (!begins_number(squeezed, i))
            continue;
        struct oom_size size;
        struct words front = {squeezed, i}, rest = {squeezed + i, length - i};
        size_t taken = oom_size_read(squeezed + i, length - i, &size);
        if (taken == 0) {
            taken = read_free_of_total(front, rest, out);
            taken = taken > 0 ? taken : read_unitless_bytes(front, rest, out);
            if (taken == 0)
                continue;
            i += taken - 1;
            found++;
            *from = i + 1;
            continue;
        }
        struct words behind = {squeezed + i + taken, length - i - taken};
        i += taken - 1;
        if (!assign_size(front, behind, size, out))
            continue;
        found++;
        *from = i + 1;
    }
    return found;
}

static struct words find_after(struct words words, const char *text)
{
    const char *at = words.length ? memmem(words.text, words.length, text, strlen(text)) : NULL;
    if (!at)
        return (struct words){0};
    at += strlen(text);
    return (struct words){at, (size_t)(words.text + words.length - at)};
}

static void read_gpu(struct words words, const char *const *fronts, struct oom *out)
{
    for (; out->gpu < 0 && *fronts; fronts++) {
        struct words rest = find_after(words, *fronts);
        size_t digits = 0;
        int64_t number = 0;
        for (; digits < rest.length && digits < 4 && ascii_is_digit(rest.text[digits]); digits++)
            number = number * 10 + (rest.text[digits] - '0');
        /* "GPU10.76GiB" has no number but a size. */
        bool is_size = digits < rest.length && ascii_is_digit(rest.text[digits]);
        is_size = is_size || (digits + 1 < rest.length && rest.text[digits] == '.' &&
                              ascii_is_digit(rest.text[digits + 1]));
        if (digits > 0 && !is_size)
            out->gpu = number;
    }
}

void message_front(const char *squeezed, size_t length, struct oom *out)
{
    static const char *const fronts[] = {"Allocationondevice", "Allocator(GPU_", NULL};
    read_gpu((struct words){squeezed, length}, fronts, out);
}

/* An overlong or senseless shape has no size. */
static bool multiply(struct words dimensions, uint64_t *product)
{
    uint64_t number = 0;
    *product = 1;
    for (size_t i = 0; i <= dimensions.length; i++) {
        bool ends = i == dimensions.length || dimensions.text[i] == ',';
        if (!ends && !ascii_is_digit(dimensions.text[i]))
            return false;
        if (!ends && __builtin_mul_overflow(number, 10, &number))
            return false;
        if (!ends && __builtin_add_overflow(number, (uint64_t)(dimensions.text[i] - '0'), &number))
            return false;
        if (ends && __builtin_mul_overflow(*product, number, product))
            return false;
        if (ends)
            number = 0;
    }
    return dimensions.length > 0;
}

static uint64_t type_bytes(struct words type, const char **name)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {{"float", 4},  {"double", 8}, {"half", 2},      {"bfloat16", 2},
                 {"int64", 8},  {"int32", 4},  {"int16", 2},     {"int8", 1},
                 {"uint8", 1},  {"bool", 1},   {"complex64", 8}, {"complex128", 16},
                 {"uint16", 2}, {"uint32", 4}, {"uint64", 8},    {"float8_e5m2", 1}};
    EACH_OF (item, types) {
        size_t length = strlen(item->name);
        if (type.length > length && memcmp(type.text, item->name, length) == 0 &&
            strncmp(type.text + length, "on",
                    type.length - length < 2 ? type.length - length : 2) == 0) {
            *name = item->name;
            return item->bytes;
        }
    }
    *name = "";
    return 0;
}

/* "withshape[64,512]andtypefloaton/job:..." */
static void read_shape(struct words words, struct oom *out)
{
    struct words shape = find_after(words, "withshape[");
    const char *end = shape.length ? memchr(shape.text, ']', shape.length) : NULL;
    if (!end || (size_t)(end - shape.text) >= OOM_SHAPE_SIZE - sizeof "complex128")
        return;
    struct words rest = {end, shape.length - (size_t)(end - shape.text)},
                 type = find_after(rest, "]andtype");
    shape.length = (size_t)(end - shape.text);
    const char *name = "";
    uint64_t product, bytes = type_bytes(type, &name);
    if (!multiply(shape, &product))
        return;
    size_t at = 0;
    for (; at < shape.length; at++)
        out->shape[at] = shape.text[at] == ',' ? 'x' : shape.text[at];
    if (*name)
        out->shape[at++] = ' ';
    for (size_t i = 0; name[i]; i++)
        out->shape[at++] = name[i];
    if (bytes > 0 && !out->of[OOM_REQUESTED].valid &&
        !__builtin_mul_overflow(product, bytes, &product))
        out->of[OOM_REQUESTED] = oom_size_of(product);
}

/* numpy below 1.18 gives no size: "withshape(77760,256)anddatatypefloat64". */
static void read_numpy_shape(struct words words, struct oom *out)
{
    static const char *const kinds[] = {"float", "int", "uint", "complex"};
    struct words shape = find_after(words, "arraywithshape("),
                 type = find_after(shape, ")anddatatype");
    const char *end = shape.length ? memchr(shape.text, ')', shape.length) : NULL;
    uint64_t product = 0, bits = 0;
    if (!end || out->of[OOM_REQUESTED].valid)
        return;
    shape.length = (size_t)(end - shape.text);
    shape.length -= shape.length > 0 && shape.text[shape.length - 1] == ',';
    EACH_OF (kind, kinds) {
        size_t length = strlen(*kind), i = length;
        if (type.length <= length || memcmp(type.text, *kind, length) != 0)
            continue;
        for (; i < type.length && i < length + 3 && ascii_is_digit(type.text[i]); i++)
            bits = bits * 10 + (uint64_t)(type.text[i] - '0');
    }
    if (bits >= 8 && multiply(shape, &product) &&
        !__builtin_mul_overflow(product, bits / 8, &product))
        out->of[OOM_REQUESTED] = oom_size_of(product);
}

bool message_end(const char *squeezed, size_t length, struct oom *out)
{
    static const char *const fronts[] = {"device:GPU:", "GPU:", "GPU_", "GPU", "cuda:", NULL};
    struct words words = {squeezed, length};
    read_gpu(words, fronts, out);
    read_shape(words, out);
    read_numpy_shape(words, out);
    if (find_after(words, "morethan1EBmemory").text)
        out->cause = OOM_CAUSE_PROGRAM;
    if (find_after(words, "device:CPU:").text || find_after(words, "byallocatorcpu").text) {
        out->kind = OOM_KIND_HOST;
        out->cause = OOM_CAUSE_HOST_CAPACITY;
    }
    /* Autotuning tries kernels that do not fit. */
    if (find_after(words, "Ignoringthischoice").text)
        out->went_on = true;
    /* TensorFlow tries a faster algorithm, and takes another. */
    if (find_after(words, "callerindicatesthatthisisnotafailure").text) {
        out->went_on = true;
        out->cause = OOM_CAUSE_WORKSPACE;
    }
    return true;
}

void message_stats_read(struct message_stats *stats, uint64_t line, const char *raw, size_t length)
{
    static const struct {
        const char *name;
        bool is_limit;
    } rows[] = {{"Limit:", true}, {"InUse:", false}};
    EACH_OF (row, rows) {
        size_t i = strlen(row->name);
        uint64_t number = 0;
        if (length <= i || memcmp(raw, row->name, i) != 0)
            continue;
        while (i < length && raw[i] == ' ')
            i++;
        for (; i < length && ascii_is_digit(raw[i]) && number < PLAIN_MOST; i++)
            number = number * 10 + (uint64_t)(raw[i] - '0');
        *(row->is_limit ? &stats->limit : &stats->in_use) = number;
        stats->line = line;
    }
}

void message_add_stats(const struct message_stats *stats, uint64_t line, struct oom *out)
{
    bool is_theirs = out->framework == OOM_TENSORFLOW || out->framework == OOM_XLA;
    if (!is_theirs || stats->line == 0 || line - stats->line > STATS_LINES ||
        stats->in_use > stats->limit || out->of[OOM_TOTAL].valid)
        return;
    out->of[OOM_TOTAL] = oom_size_of(stats->limit);
    out->of[OOM_ALLOCATED] = oom_size_of(stats->in_use);
    out->of[OOM_FREE] = oom_size_of(stats->limit - stats->in_use);
}
