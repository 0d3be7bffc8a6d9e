#include "results/store/machines.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "machine/gpu/vendor.h"

#include <string.h>

enum { MACHINE_MAX_BYTES = 16 << 20, MACHINES_MAX = 100000 };

static const struct record_field gpu_fields[] = {
    RECORD(struct machine_gpu, uuid), RECORD(struct machine_gpu, model), {0}};

#define REPOSITORY(member) RECORD(struct machine_repository, member)
static const struct record_field repository_fields[] = {
    REPOSITORY(name), REPOSITORY(commit), REPOSITORY(dirty), {0}};

#define MACHINE_FILE(member) RECORD(struct machine_file, member)
static const struct record_field file_fields[] = {MACHINE_FILE(path), MACHINE_FILE(sha256), {0}};

#define CODE(member) RECORD(struct machine_code, member)
static const struct record_field code_fields[] = {
    CODE(path),
    CODE(script),
    RECORD_STRUCTS(struct machine_code, "files", files, file_count, file_fields),
    {0}};

static bool read_package_list(const json_t *json, void *item, struct err *err)
{
    struct machine_packages *packages = item;
    (void)err;
    packages->known = json_is_array(json);
    for (size_t i = 0; i < json_array_size(json); i++)
        if (json_is_string(json_array_get(json, i)))
            strv_add(&packages->names, json_string_value(json_array_get(json, i)));
    return true;
}

#define INTERPRETER(member) RECORD(struct machine_interpreter, member)
static const struct record_field interpreter_fields[] = {INTERPRETER(path),
                                                         INTERPRETER(version),
                                                         RECORD_STRUCT(struct machine_interpreter,
                                                                       "packages", packages, NULL,
                                                                       .from = read_package_list),
                                                         {0}};

#define MACHINE(member)   RECORD(struct machine_record, member)
#define MACHINE_AS(...)   RECORD_AS(struct machine_record, __VA_ARGS__)
#define MACHINE_LIST(...) RECORD_STRUCTS(struct machine_record, __VA_ARGS__)
static const struct record_field cpu_fields[] = {
    MACHINE_AS("model", cpu_model), MACHINE_AS("count", cpu_count), {0}};
static const struct record_field machine_fields[] = {
    MACHINE(session),
    MACHINE(host),
    MACHINE(boot_id),
    MACHINE(kernel),
    MACHINE(memory_bytes),
    RECORD_GROUP("cpu", cpu_fields),
    MACHINE_LIST("gpus", gpus, gpu_count, gpu_fields),
    MACHINE_LIST("repositories", repositories, repository_count, repository_fields),
    MACHINE_LIST("code", code, code_count, code_fields),
    MACHINE_LIST("interpreters", interpreters, interpreter_count, interpreter_fields),
    {0}};

void machine_record_read(const json_t *json, struct machine_record *out)
{
    *out = (struct machine_record){.driver = mem_strdup(gpu_vendor_driver_in(json))};
    for (size_t i = 0; gpu_vendors[i]; i++) {
        const char *driver = json_get_text(json, gpu_vendors[i]->driver_key);
        strv_add(&out->drivers, driver ? driver : "");
    }
    record_get(machine_fields, json, out);
}

void machine_record_fini(struct machine_record *machine)
{
    free(machine->driver);
    strv_fini(&machine->drivers);
    EACH (interpreter, machine->interpreters, machine->interpreter_count)
        strv_fini(&interpreter->packages.names);
    record_free(machine_fields, machine);
}

void machines_read(int dir, struct machines *out)
{
    struct err ignored;
    *out = (struct machines){0};
    for (int number = 0; dir >= 0 && number < MACHINES_MAX; number++) {
        AUTO_FREE char *name =
            number ? mem_printf("machine.%d.json", number) : mem_strdup("machine.json");
        AUTO_TEXT struct text text = {0};
        AUTO(json_doc_fini) struct json_doc doc = {0};
        if (!fs_read_at(dir, name, MACHINE_MAX_BYTES, &text, &ignored) ||
            !json_doc_parse(name, text_get(&text), text.length, &doc, &ignored))
            break;
        machine_record_read(doc.root, &MEM_ADD(out->items, out->count));
    }
}

void machines_fini(struct machines *machines)
{
    EACH (machine, machines->items, machines->count)
        machine_record_fini(machine);
    free(machines->items);
}

const struct machine_record *machines_find(const struct machines *machines, const char *host,
                                           const char *boot_id)
{
    EACH (machine, machines->items, machines->count)
        if (host && boot_id && machine->host && machine->boot_id &&
            strcmp(machine->host, host) == 0 && strcmp(machine->boot_id, boot_id) == 0)
            return machine;
    return NULL;
}
