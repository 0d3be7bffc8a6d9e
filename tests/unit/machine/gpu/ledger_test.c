/* What a job may write into the table that it shares with its runner, and what is read of it. */
#include "machine/gpu/ledger.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/gpu_ledger.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char uuid[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
                  unknown[] = "GPU-ff010203-0405-0607-0809-0a0b0c0d0e0f";

struct books {
    char top[64];
    char *library; /* an ELF header of this machine's shared libraries */
    struct ledger *ledger;
    struct gpu_ledger *table;
};

static void put_header(const char *path, const Elf64_Ehdr *header)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, header, sizeof *header), sizeof *header);
}

static Elf64_Ehdr own_header(void)
{
    Elf64_Ehdr header;
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, &header, sizeof header), sizeof header);
    header.e_type = ET_DYN;
    return header;
}

static int set_up(void **state)
{
    struct books *books = mem_alloc(sizeof *books);
    Elf64_Ehdr header = own_header();
    *state = books;
    strcpy(books->top, "/tmp/tare-ledger.XXXXXX");
    assert_non_null(mkdtemp(books->top));
    books->library = mem_printf("%s/lib.so", books->top);
    put_header(books->library, &header);
    const struct gpu_limit third = {.share = 0.33339};
    books->ledger = ledger_new(books->library, &third, NULL);
    assert_non_null(books->ledger);
    books->table = mmap(NULL, sizeof *books->table, PROT_READ | PROT_WRITE, MAP_SHARED,
                        ledger_fd(books->ledger), 0);
    assert_ptr_not_equal(books->table, MAP_FAILED);
    for (uint8_t i = 0; i < 16; i++)
        books->table->gpus[0].uuid[i] = i;
    books->table->gpus[0].state = GPU_LEDGER_USED;
    return 0;
}

static int tear_down(void **state)
{
    struct books *books = *state;
    munmap(books->table, sizeof *books->table);
    ledger_free(books->ledger);
    int removed = folder_remove(books->top);
    free(books->library);
    free(books);
    return removed;
}

static void assert_refused(const char *path, const char *reason)
{
    struct err err = {0};
    const struct gpu_limit none = {0};
    assert_null(ledger_new(path, &none, &err));
    if (!strstr(err.text, reason))
        fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void only_a_shared_library_of_this_machine_is_preloaded(void **state)
{
    const struct books *books = *state;
    AUTO_FREE char *path = mem_printf("%s/other.so", books->top);
    AUTO_FREE char *blank = mem_printf("%s/a b.so", books->top);
    AUTO_FREE char *colon = mem_printf("%s/a:b.so", books->top);
    Elf64_Ehdr header = own_header();
    put_header(blank, &header);
    put_header(colon, &header);
    assert_refused(blank, "space or colon in its path");
    assert_refused(colon, "space or colon in its path");
    assert_refused("/nowhere/lib.so", "open /nowhere/lib.so");
    header.e_machine ^= 1;
    put_header(path, &header);
    assert_refused(path, "is not for this machine");
    header = own_header();
    header.e_ident[EI_CLASS] ^= 3;
    put_header(path, &header);
    assert_refused(path, "is not for this machine");
    header = own_header();
    header.e_type = ET_REL;
    put_header(path, &header);
    assert_refused(path, "is not for this machine");
    header.e_ident[0] = 'x';
    put_header(path, &header);
    assert_refused(path, "is not a shared library");
    assert_int_equal(truncate(path, 10), 0);
    assert_refused(path, "is not a shared library");
}

static void the_table_keeps_its_size_and_begins_with_the_limit(void **state)
{
    const struct books *books = *state;
    int fd = ledger_fd(books->ledger);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, (off_t)sizeof *books->table + 1), -1);
    assert_true(books->table->magic == GPU_LEDGER_MAGIC);
    assert_int_equal(books->table->version, GPU_LEDGER_VERSION);
    assert_int_equal(books->table->size, sizeof *books->table);
    assert_int_equal(books->table->limit, 0);
    assert_int_equal(books->table->limit_share, 3334); /* of 10000 */
}

static void the_job_is_told_behind_what_is_there(void **state)
{
    const struct books *books = *state;
    AUTO_STRV struct strv environment = {0};
    strv_add(&environment, "LD_PRELOAD=/lib/own.so");
    strv_add(&environment, "ASAN_OPTIONS=a=1");
    ledger_tell_job(books->ledger, NULL, &environment);
    AUTO_FREE char *preload = mem_printf("/lib/own.so:%s", books->library);
    assert_string_equal(strv_env_get(&environment, "LD_PRELOAD"), preload);
    assert_string_equal(strv_env_get(&environment, "ASAN_OPTIONS"), "a=1:verify_asan_link_order=0");
    assert_string_equal(strv_env_get(&environment, GPU_LEDGER_TRACE_VARIABLE), "");
    const char *place = strv_env_get(&environment, GPU_LEDGER_VARIABLE);
    assert_int_equal(strspn(place, "0123456789abcdef"), GPU_LEDGER_NONCE);
    assert_memory_equal(place, books->table->nonce, GPU_LEDGER_NONCE);
    /* The first of the paths leads to the table. */
    AUTO_FREE char *path =
        mem_strndup(place + GPU_LEDGER_NONCE + 1, strcspn(place + GPU_LEDGER_NONCE + 1, ":"));
    struct stat status, own;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(fstat(ledger_fd(books->ledger), &own), 0);
    assert_true(status.st_ino == own.st_ino && status.st_dev == own.st_dev);

    strv_env_set(&environment, "LD_PRELOAD", "");
    strv_env_set(&environment, "ASAN_OPTIONS", "verify_asan_link_order=1");
    ledger_tell_job(books->ledger, "/trace", &environment);
    assert_string_equal(strv_env_get(&environment, "LD_PRELOAD"), books->library);
    assert_string_equal(strv_env_get(&environment, "ASAN_OPTIONS"), "verify_asan_link_order=1");
    assert_string_equal(strv_env_get(&environment, GPU_LEDGER_TRACE_VARIABLE), "/trace");
}

static void a_gpu_is_found_by_its_uuid_with_the_largest_peaks(void **state)
{
    const struct books *books = *state;
    struct ledger_gpu gpu;
    assert_false(ledger_look(books->ledger, unknown, &gpu));
    assert_false(ledger_look(books->ledger, "", &gpu));
    books->table->gpus[0].held = 300;
    books->table->gpus[0].held_peak = 500;
    books->table->processes[0].gpus[0].held_peak = 200;
    books->table->processes[5].gpus[0].held_peak = 400;
    books->table->processes[6].gpus[1].held_peak = 900; /* of another GPU */
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.held, 300);
    assert_int_equal(gpu.peak, 400);
    assert_int_equal(gpu.sum_peak, 500);
    assert_int_equal(gpu.processes, 2);
    books->table->processes[5].gpus[0].held_peak = 600;
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.sum_peak, 600); /* at least what one of them held */
}

static void what_an_ended_process_held_is_not_held(void **state)
{
    struct books *books = *state;
    struct stat status;
    struct ledger_gpu gpu;
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
    books->table->gpus[0].held = 1000;
    struct gpu_ledger_process *process = &books->table->processes[0];
    process->state = GPU_LEDGER_USED;
    process->pid = ended;
    process->pid_namespace = status.st_ino;
    process->gpus[0].held = 400;
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.held, 1000); /* which /proc is the job's is not known yet */
    ledger_watch(books->ledger, getpid());
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.held, 600);
    process->pid_namespace++;
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.held, 1000);
    process->pid_namespace--;
    process->pid = getpid();
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.held, 1000);
    process->pid = ended;
    process->gpus[0].held = UINT64_MAX; /* nonsense makes nothing negative */
    assert_true(ledger_look(books->ledger, uuid, &gpu));
    assert_int_equal(gpu.held, 0);
}

static void the_sum_has_the_worst_of_all_gpus(void **state)
{
    const struct books *books = *state;
    struct ledger_sum sum;
    struct gpu_ledger_gpu *gpus = books->table->gpus;
    gpus[1].state = GPU_LEDGER_USED;
    gpus[2].state = GPU_LEDGER_TAKING;
    for (int i = 0; i < 3; i++) {
        gpus[i].refused = 3;
        gpus[i].live_peak = 100 * (uint64_t)(i + 1);
        gpus[i].over = 70 - 10 * (uint64_t)i;
    }
    gpus[1].context_how = GPU_LEDGER_CONTEXT_READ;
    gpus[2].context_how = GPU_LEDGER_CONTEXT_ASSUMED;
    books->table->attached = 4;
    books->table->unplaced = 1;
    ledger_read(books->ledger, &sum);
    assert_int_equal(sum.refused, 6);
    assert_int_equal(sum.live_peak, 200);
    assert_int_equal(sum.over, 70);
    assert_int_equal(sum.attached, 4);
    assert_int_equal(sum.unplaced, 1);
    assert_false(sum.context_assumed);
    gpus[0].context_how = GPU_LEDGER_CONTEXT_ASSUMED;
    ledger_read(books->ledger, &sum);
    assert_true(sum.context_assumed);
}

static json_int_t integer_of(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

static void nonsense_in_the_table_makes_valid_json(void **state)
{
    const struct books *books = *state;
    struct gpu_ledger_process *process = &books->table->processes[3];
    books->table->gpus[0].live = UINT64_MAX;
    books->table->gpus[0].context_how = 77;
    books->table->gpus[0].limit = 5;
    process->state = GPU_LEDGER_GONE;
    process->pid = -7;
    memset(process->command, 0xff, sizeof process->command);
    process->refused[0] = 2;
    books->table->processes[4].state = GPU_LEDGER_TAKING;
    json_t *json = ledger_json(books->ledger);
    const json_t *gpus = json_object_get(json, "gpus"), *gpu = json_array_get(gpus, 0);
    assert_int_equal(json_array_size(gpus), 1);
    assert_string_equal(json_string_value(json_object_get(gpu, "uuid")), uuid);
    assert_true(integer_of(gpu, "live_bytes") == INT64_MAX);
    assert_int_equal(integer_of(gpu, "limit_bytes"), 5);
    assert_true(json_is_null(json_object_get(gpu, "context_bytes")));
    assert_true(json_is_null(json_object_get(gpu, "context_source")));
    assert_true(json_is_null(json_object_get(gpu, "refused_least_bytes")));
    assert_true(json_is_null(json_object_get(json, "limit_bytes")));
    assert_true(json_real_value(json_object_get(json, "limit_share")) == 0.33339);
    const json_t *processes = json_object_get(json, "processes"),
                 *one = json_array_get(processes, 0);
    assert_int_equal(json_array_size(processes), 1);
    assert_int_equal(integer_of(one, "pid"), -7);
    assert_string_equal(json_string_value(json_object_get(one, "command")), "????????????????");
    assert_int_equal(integer_of(json_array_get(json_object_get(one, "gpus"), 0), "refused"), 2);
    json_decref(json);
}

#define WITH_BOOKS(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BOOKS(only_a_shared_library_of_this_machine_is_preloaded),
        WITH_BOOKS(the_table_keeps_its_size_and_begins_with_the_limit),
        WITH_BOOKS(the_job_is_told_behind_what_is_there),
        WITH_BOOKS(a_gpu_is_found_by_its_uuid_with_the_largest_peaks),
        WITH_BOOKS(what_an_ended_process_held_is_not_held),
        WITH_BOOKS(the_sum_has_the_worst_of_all_gpus),
        WITH_BOOKS(nonsense_in_the_table_makes_valid_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
