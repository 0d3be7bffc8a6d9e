#include "results/judge/own_facts.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "machine/gpu/vendor.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MACHINE_MAX_BYTES = 16 << 20, MACHINES_MAX = 100000 };

static json_t *read_machine(int dir, const char *name)
{
    struct err ignored;
    AUTO_TEXT struct text text = {0};
    AUTO(json_doc_fini) struct json_doc doc = {0};
    if (!fs_read_at(dir, name, MACHINE_MAX_BYTES, &text, &ignored) ||
        !json_doc_parse(name, text_get(&text), text.length, &doc, &ignored))
        return NULL;
    return json_incref(doc.root);
}

static bool take_machine(int dir, const char *name, struct own_machines *out)
{
    json_t *machine = read_machine(dir, name);
    if (!machine)
        return false;
    out->items = mem_room(out->items, out->count, &out->capacity, sizeof *out->items);
    out->items[out->count++] = machine;
    return true;
}

void own_machines_read(const char *run_dir, struct own_machines *out)
{
    *out = (struct own_machines){0};
    AUTO_CLOSE int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool more = dir >= 0 && take_machine(dir, "machine.json", out);
    for (int number = 1; more && number < MACHINES_MAX; number++) {
        AUTO_FREE char *name = mem_printf("machine.%d.json", number);
        more = take_machine(dir, name, out);
    }
}

void own_machines_fini(struct own_machines *machines)
{
    for (size_t i = 0; i < machines->count; i++)
        json_decref(machines->items[i]);
    free(machines->items);
    *machines = (struct own_machines){0};
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* That of the session's host and boot: a session that changed nothing of them met the same machine. */
static const json_t *machine_of(const struct facts_item *item, const struct own_machines *machines)
{
    for (size_t i = 0; i < machines->count; i++)
        if (same(json_get_text(machines->items[i], "host"), item->host) &&
            same(json_get_text(machines->items[i], "boot_id"), item->boot_id))
            return machines->items[i];
    return NULL;
}

/* The GPUs of the attempt whose figures these are. */
static void take_boards(const json_t *energy, json_t *out)
{
    size_t i;
    json_t *device;
    json_array_foreach(json_object_get(energy, "devices"), i,
                       device) if (same(json_get_text(device, "scope"), "GPU board")) json_array_append(out, device);
}

/* "560.35.03" of "NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri ...". */
static char *version_in(const char *text)
{
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, " ");
        if (isdigit((unsigned char)*at) && memchr(at, '.', length))
            return mem_strndup(at, length);
        at += length;
        at += strspn(at, " ");
    }
    return NULL;
}

/* Runs of versions that did not record it with the energy have the model in machine.json alone. */
static const char *model_of(const json_t *board, const json_t *machine)
{
    const char *model = json_get_text(board, "model"), *uuid = json_get_text(board, "uuid");
    size_t i;
    json_t *gpu;
    json_array_foreach(json_object_get(machine, "gpus"), i, gpu) if (!model && same(json_get_text(gpu, "uuid"), uuid))
        model = json_get_text(gpu, "model");
    return model;
}

/* "700 W"; "1980/3201 MHz"; NULL: not all of it is known. */
static char *numbers_of(const json_t *board, const char *first, const char *second, const char *unit)
{
    double a, b;
    if (!json_get_number(board, first, &a) || (second && !json_get_number(board, second, &b)))
        return NULL;
    return second ? mem_printf("%.6g/%.6g %s", a, b, unit) : mem_printf("%.6g %s", a, unit);
}

static char *fact_of(const json_t *board, const json_t *machine, enum dataset_fact fact)
{
    switch (fact) {
    case FACT_GPU_MODEL:
        return mem_strdup(model_of(board, machine));
    case FACT_POWER_LIMIT:
        return numbers_of(board, "power_limit_w", NULL, "W");
    case FACT_CLOCKS_MAX:
        return numbers_of(board, "sm_clock_max_mhz", "memory_clock_max_mhz", "MHz");
    case FACT_CLOCKS_SET:
        return numbers_of(board, "sm_clock_application_mhz", "memory_clock_application_mhz", "MHz");
    case FACT_DRIVER:
        return json_get_text(board, "driver") ? mem_strdup(json_get_text(board, "driver"))
                                              : version_in(gpu_vendor_driver_in(machine));
    default:
        return NULL;
    }
}

/* Of several GPUs each value once; NULL: of one it is not known. */
static char *fact_of_all(const json_t *boards, const json_t *machine, enum dataset_fact fact)
{
    AUTO_STRV struct strv values = {0};
    size_t i;
    json_t *board;
    json_array_foreach(boards, i, board)
    {
        AUTO_FREE char *value = fact_of(board, machine, fact);
        if (!value)
            return NULL;
        strv_add_once(&values, value);
    }
    return values.count ? strv_join(&values, " and ") : NULL;
}

/* "gpu07 GPU 2 (GPU-73fe8c24)": where each task sees its GPU as the first, the UUID tells them apart. */
static char *lane_of(const struct facts_item *item, const json_t *boards)
{
    AUTO_STRV struct strv names = {0};
    size_t i;
    json_t *board;
    json_array_foreach(boards, i, board)
    {
        const char *label = json_get_text(board, "device"), *uuid = json_get_text(board, "uuid");
        strv_add_owned(&names, mem_printf("%s (%.12s)", label ? label : "GPU", uuid ? uuid : "no UUID"));
    }
    AUTO_FREE char *gpus = strv_join(&names, ", ");
    return names.count ? mem_printf("%s%s%s", item->host ? item->host : "", item->host ? " " : "", gpus) : NULL;
}

/* All of them or none: of one without an energy or a UUID nobody can say how much it counts. */
static void take_measured(struct dataset_experiment *experiment, const json_t *boards)
{
    size_t i, count = json_array_size(boards);
    json_t *board;
    json_array_foreach(boards, i, board)
    {
        double energy_j;
        if (!json_get_text(board, "uuid") || !json_get_number(board, "joules", &energy_j) || !(energy_j >= 0) ||
            !isfinite(energy_j))
            return;
    }
    experiment->boards = mem_array(count + 1, sizeof *experiment->boards);
    json_array_foreach(boards, i, board)
    {
        struct dataset_board *out = &experiment->boards[experiment->board_count++];
        out->uuid = mem_strdup(json_get_text(board, "uuid"));
        json_get_number(board, "joules", &out->energy_j);
        out->half_width_j.valid = json_get_number(board, "half_width_j", &out->half_width_j.value) &&
                                  isfinite(out->half_width_j.value) && out->half_width_j.value >= 0;
        if (!json_get_number(board, "gain_bound", &out->gain_bound) || !(out->gain_bound > 0) ||
            !isfinite(out->gain_bound))
            out->gain_bound = 0;
    }
}

void own_facts_take(struct dataset_experiment *experiment, const struct facts_item *item, const json_t *energy,
                    const struct own_machines *machines)
{
    const json_t *machine = machine_of(item, machines);
    json_t *boards = json_array();
    take_boards(energy, boards);
    take_measured(experiment, boards);
    experiment->facts[FACT_NODE] = mem_strdup(item->host);
    experiment->facts[FACT_LANE] = lane_of(item, boards);
    for (enum dataset_fact fact = FACT_GPU_MODEL; fact < DATASET_FACTS; fact++)
        experiment->facts[fact] = fact_of_all(boards, machine, fact);
    experiment->facts[FACT_CPU] = mem_strdup(json_get_text(json_get(machine, "cpu"), "model"));
    experiment->facts[FACT_KERNEL] = mem_strdup(json_get_text(machine, "kernel"));
    json_decref(boards);
}
