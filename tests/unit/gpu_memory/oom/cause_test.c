/* Why memory ran out: the causes, the boundaries between them, and what is advised. Every
 * expectation follows from the numbers in the message, worked out by hand. */
#include "gpu_memory/oom/finder.h"
#include "gpu_memory/oom/line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "gpu_memory/oom/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB 1073741824.0
#define MIB 1048576.0

static const struct oom_circumstances nothing_known;

static void diagnose(const char *log, const struct oom_circumstances *known,
                     struct oom_diagnosis *out)
{
    struct oom_list *list = test_malloc(sizeof *list);
    oom_parse(log, strlen(log), list);
    assert_int_equal(list->count, 1);
    oom_diagnose(&list->items[0], known, out);
    oom_list_fini(list);
    test_free(list);
}

/* 2.2 and later, one process. */
static char *message(const char *requested, const char *total, const char *free_bytes,
                     const char *own, const char *allocated, const char *unallocated,
                     const char *more)
{
    return mem_printf("CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s "
                      "of which %s is free. %s"
                      "Including non-PyTorch memory, this process has %s memory in use. Of the "
                      "allocated memory %s is "
                      "allocated by PyTorch, and %s is reserved by PyTorch but unallocated.\n",
                      requested, total, free_bytes, more, own, allocated, unallocated);
}

static void assert_near(struct oom_size size, double bytes, double within)
{
    assert_true(size.valid);
    if (fabs((double)size.bytes - bytes) > within)
        fail_msg("%llu instead of %.0f", (unsigned long long)size.bytes, bytes);
}

static const struct oom_remedy *remedy(const struct oom_diagnosis *diagnosis, const char *name)
{
    for (size_t i = 0; i < diagnosis->remedy_count; i++)
        if (strcmp(diagnosis->remedies[i].name, name) == 0)
            return &diagnosis->remedies[i];
    return NULL;
}

static void assert_order(const struct oom_diagnosis *diagnosis, const char *expected)
{
    AUTO_TEXT struct text names = {0};
    for (size_t i = 0; i < diagnosis->remedy_count; i++)
        text_addf(&names, "%s%s", i ? " " : "", diagnosis->remedies[i].name);
    assert_string_equal(text_get(&names), expected);
}

static bool has_reason(const struct oom_diagnosis *diagnosis, const char *words)
{
    for (size_t i = 0; i < diagnosis->reasons.count; i++)
        if (strstr(diagnosis->reasons.items[i], words))
            return true;
    return false;
}

static const char seed[] =
    "CUDA out of memory. Tried to allocate 4.15 GiB.\nGPU 0 has a total capacity of 44.53 GiB\n- "
    "Free: "
    "3.84 GiB\n- In use by process: 40.68 GiB\n- Allocated by PyTorch: 36.78 GiB\n- Reserved but "
    "unallocated: 3.56 GiB\n";

/* 3.56 GiB alone is less than 4.15 GiB; with the 3.84 GiB that are free it is 7.40 GiB. */
static void memory_in_pieces_is_fragmentation(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    diagnose(seed, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_FRAGMENTATION);
    assert_true(diagnosis.sure);
    assert_true(diagnosis.expandable_fits);
    assert_near(diagnosis.reserved, 40.34 * GIB, 2);
    assert_near(diagnosis.outside, 0.34 * GIB, 2);
    assert_near(diagnosis.room, 3.84 * GIB, 1);
    assert_near(diagnosis.missing, 0.31 * GIB, 2);
    assert_near(diagnosis.unlisted, 0.01 * GIB, 2);
    assert_true(has_reason(&diagnosis,
                           "7.40 GiB: enough for the 4.15 GiB asked for, but not in one piece"));
    assert_order(&diagnosis, "expandable_segments empty_cache smaller_batch mixed_precision "
                             "activation_checkpointing");
    assert_string_equal(diagnosis.remedies[0].effect,
                        "this request fits, with up to 3.25 GiB to spare");
    assert_non_null(strstr(diagnosis.remedies[1].what, "never in every step"));
    oom_diagnosis_fini(&diagnosis);
}

/* The same GPU as PyTorch 1.0 to 1.3 tells of it ("cached": reserved and in no tensor) and as 1.4
 * to 2.0 does ("reserved in total"): one diagnosis. Allocated and cached are what is reserved. */
static void both_meanings_of_the_old_messages_come_to_one_diagnosis(void **state)
{
    (void)state;
    static const struct {
        const char *requested, *total, *allocated, *free_bytes, *cached, *reserved;
        double missing_mib, reserved_mib, unlisted_mib;
        enum oom_cause cause;
    } rows[] = {
        /* 16 GiB never fit in 11.93 GiB */
        {"16.00 GiB", "11.93 GiB", "4.00 GiB", "7.33 GiB", "179.00 KiB", "4.00 GiB", 8878.08, 4096,
         614, //
         OOM_CAUSE_GIANT},
        /* 4 GiB of tensors and 11 GiB are more than 11.93 GiB */
        {"11.00 GiB", "11.93 GiB", "4.00 GiB", "7.33 GiB", "179.00 KiB", "4.00 GiB", 3758.08, 4096,
         614, //
         OOM_CAUSE_CAPACITY},
        /* 245 MiB of 10003.72 MiB are 2.4 %: less than a twentieth */
        {"20.00 MiB", "10.76 GiB", "9.53 GiB", "9.44 MiB", "245.00 MiB", "9.77 GiB", 10.56,
         10003.72, 1005, //
         OOM_CAUSE_CAPACITY},
        /* 500 + 3.2 GiB hold 1.5 GiB, in pieces */
        {"1.50 GiB", "15.75 GiB", "11.20 GiB", "500.00 MiB", "3.20 GiB", "14.40 GiB", 1036, 14745.6,
         882, //
         OOM_CAUSE_FRAGMENTATION},
        /* 10.76 GiB, of which this program has 2.50 and 0.50 GiB free: the other 7.76 GiB are
           somebody's */
        {"1.00 GiB", "10.76 GiB", "2.25 GiB", "512.00 MiB", "256.00 MiB", "2.50 GiB", 512, 2560,
         7946.24, //
         OOM_CAUSE_OTHERS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int old = 0; old < 2; old++) {
            AUTO_FREE char *text =
                mem_printf("RuntimeError: CUDA out of memory. Tried to allocate %s (GPU 0; %s "
                           "total capacity; %s "
                           "already allocated; "
                           "%s free; %s %s)\n",
                           rows[i].requested, rows[i].total, rows[i].allocated, rows[i].free_bytes,
                           old ? rows[i].cached : rows[i].reserved,
                           old ? "cached" : "reserved in total by PyTorch");
            struct oom_diagnosis diagnosis;
            diagnose(text, &nothing_known, &diagnosis);
            assert_string_equal(oom_cause_name(diagnosis.cause), oom_cause_name(rows[i].cause));
            assert_near(diagnosis.reserved, rows[i].reserved_mib * MIB, 11 * MIB);
            assert_near(diagnosis.missing, rows[i].missing_mib * MIB, 11 * MIB);
            assert_near(diagnosis.unlisted, rows[i].unlisted_mib * MIB, 22 * MIB);
            oom_diagnosis_fini(&diagnosis);
        }
}

static void expandable_segments_are_not_advised_where_they_are_on(void **state)
{
    (void)state;
    struct oom_circumstances known = {.expandable = OOM_SETTING_ON};
    struct oom_diagnosis diagnosis;
    diagnose(seed, &known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_FRAGMENTATION);
    /* Nor a call that returns what PyTorch returned itself; the explanation is that of pages. */
    assert_order(&diagnosis, "smaller_batch mixed_precision activation_checkpointing");
    assert_true(has_reason(&diagnosis, "although expandable segments are on"));
    assert_false(has_reason(&diagnosis, "lay in segments"));
    oom_diagnosis_fini(&diagnosis);
    assert_int_equal(oom_expandable("max_split_size_mb:64,expandable_segments:True"),
                     OOM_SETTING_ON);
    assert_int_equal(oom_expandable("expandable_segments:False"), OOM_SETTING_OFF);
    assert_int_equal(oom_expandable(NULL), OOM_SETTING_OFF);
}

/* 1.00 GiB free and 2.98 GiB in pieces are 3.98 GiB, less than 4.00 GiB however they were rounded;
 * with 3.00 GiB it is enough or not, as the rounding was. */
static void fragmentation_ends_where_the_pieces_would_not_do(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    AUTO_FREE char *less =
        message("4.00 GiB", "40.00 GiB", "1.00 GiB", "39.00 GiB", "35.52 GiB", "2.98 GiB", "");
    diagnose(less, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAPACITY);
    assert_true(diagnosis.sure);
    assert_false(diagnosis.expandable_fits);
    assert_order(&diagnosis, "smaller_batch mixed_precision activation_checkpointing");
    /* 3.00 GiB of 35.52 GiB: 8.4 % */
    assert_non_null(strstr(remedy(&diagnosis, "smaller_batch")->effect,
                           "3.00 GiB less is needed at least, 8.4 %"));
    oom_diagnosis_fini(&diagnosis);
    AUTO_FREE char *close =
        message("4.00 GiB", "40.00 GiB", "1.00 GiB", "39.00 GiB", "35.50 GiB", "3.00 GiB", "");
    diagnose(close, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_FRAGMENTATION);
    assert_false(diagnosis.sure);
    assert_false(diagnosis.expandable_fits);
    oom_diagnosis_fini(&diagnosis);
}

/* 150 MiB of 9.68 GiB are 1.5 %: every training has as much; the GPU is full. */
static void a_little_slack_on_a_full_gpu_is_capacity(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    diagnose("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB "
             "total capacity; 9.53 GiB "
             "already allocated; 9.44 MiB free; 9.68 GiB reserved in total by PyTorch)\n",
             &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAPACITY);
    assert_false(diagnosis.sure);
    assert_true(diagnosis.expandable_fits);
    assert_near(diagnosis.unallocated, 0.15 * GIB, 2);
    assert_true(has_reason(&diagnosis, "the tensor itself may have been as small as 1 MiB"));
    assert_order(&diagnosis,
                 "smaller_batch mixed_precision activation_checkpointing expandable_segments");
    oom_diagnosis_fini(&diagnosis);
}

/* 0.79 + 13.05 GiB hold 1.50 GiB. */
static void memory_of_other_processes_is_theirs(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    AUTO_FREE char *text = message("1.50 GiB", "23.64 GiB", "0.79 GiB", "9.70 GiB", "9.00 GiB",
                                   "0.20 GiB", "Process 4711 has 13.05 GiB memory in use. ");
    diagnose(text, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_OTHERS);
    assert_true(diagnosis.sure);
    assert_near(diagnosis.others, 13.05 * GIB, 1);
    assert_order(&diagnosis, "stop_holder");
    assert_string_equal(diagnosis.remedies[0].effect,
                        "frees up to 13.05 GiB: this request then fits");
    oom_diagnosis_fini(&diagnosis);
    /* 1.00 GiB is 4.2 % of the GPU: a desktop is not why. */
    AUTO_FREE char *desktop = message("0.80 GiB", "23.64 GiB", "0.10 GiB", "22.54 GiB", "22.00 GiB",
                                      "0.10 GiB", "Process 1 has 1.00 GiB memory in use. ");
    diagnose(desktop, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAPACITY);
    oom_diagnosis_fini(&diagnosis);
}

static void memory_that_nobody_lists_is_probably_of_others(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    diagnose("CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 10.76 GiB total capacity; "
             "1.90 GiB already "
             "allocated; 12.00 "
             "MiB free; 2.00 GiB reserved in total by PyTorch)\n",
             &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_OTHERS);
    assert_false(diagnosis.sure);
    assert_near(diagnosis.unlisted, 8.76 * GIB - 12 * MIB, 3);
    oom_diagnosis_fini(&diagnosis);
}

/* In a container the driver knows this process by another number: the one that holds what is
 * reserved. */
static void this_process_is_found_among_the_numbered_ones(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    diagnose("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 "
             "GiB of which 1.06 "
             "GiB is free. "
             "Process 9 has 0.50 GiB memory in use. Process 77 has 37.80 GiB memory in use. Of the "
             "allocated memory "
             "36.01 GiB "
             "is allocated by PyTorch, and 0.40 GiB is reserved by PyTorch but unallocated.\n",
             &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.own_pid, 77);
    assert_near(diagnosis.others, 0.5 * GIB, 1);
    assert_near(diagnosis.outside, 1.39 * GIB, 2);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAPACITY);
    oom_diagnosis_fini(&diagnosis);
}

static void a_cap_is_told_from_a_full_gpu(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    AUTO_FREE char *capped = message("1.47 GiB", "139.80 GiB", "131.06 GiB", "3.65 GiB", "1.80 GiB",
                                     "1.13 GiB", "4.00 GiB allowed; ");
    diagnose(capped, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAP);
    assert_true(diagnosis.sure);
    /* 4.00 - 1.80 - 1.13; and 1.80 + 1.47 fit into 4.00 */
    assert_near(diagnosis.room, 1.07 * GIB, 2);
    assert_true(diagnosis.expandable_fits);
    assert_order(
        &diagnosis,
        "raise_cap expandable_segments smaller_batch mixed_precision activation_checkpointing");
    assert_string_equal(diagnosis.remedies[0].effect, "from 4.40 GiB on, this request fits");
    oom_diagnosis_fini(&diagnosis);
    /* The GPU is full as well: the cap is not why. */
    AUTO_FREE char *full = message("1.47 GiB", "4.00 GiB", "0.30 GiB", "3.65 GiB", "3.20 GiB",
                                   "0.05 GiB", "3.90 GiB allowed; ");
    diagnose(full, &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAPACITY);
    oom_diagnosis_fini(&diagnosis);
    diagnose("Out of memory allocating 3,000,000,000 bytes (allocated so far: 2,000,000,000 bytes, "
             "limit set to: "
             "4,000,000,000 "
             "bytes).\n",
             &nothing_known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAP);
    assert_near(diagnosis.room, 2e9, 0);
    assert_near(diagnosis.missing, 1e9, 0);
    oom_diagnosis_fini(&diagnosis);
}

static void growth_is_the_cause_where_without_it_all_had_fitted(void **state)
{
    (void)state;
    const struct growth grown = {.epochs = 5,
                                 .grows = true,
                                 .bytes_per_epoch = 2 * GIB,
                                 .first_bytes = 10 * GIB,
                                 .last_bytes = 18 * GIB};
    struct oom_circumstances known = {.growth = &grown};
    struct oom_diagnosis diagnosis;
    AUTO_FREE char *text =
        message("1.00 GiB", "20.00 GiB", "0.40 GiB", "19.60 GiB", "18.90 GiB", "0.20 GiB", "");
    diagnose(text, &known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_GROWTH);
    assert_true(has_reason(
        &diagnosis,
        "In 5 epochs its memory grew steadily, by 2.00 GiB an epoch, from 10.00 GiB to 18.00 GiB"));
    assert_order(&diagnosis, "drop_references smaller_batch");
    assert_non_null(strstr(diagnosis.remedies[0].what, "loss.item()"));
    assert_non_null(strstr(diagnosis.remedies[0].what, "zero_grad(set_to_none=True)"));
    oom_diagnosis_fini(&diagnosis);
    /* What grew is in no tensor: 5 of the 8 GiB. */
    AUTO_FREE char *pieces =
        message("1.00 GiB", "20.00 GiB", "0.40 GiB", "19.60 GiB", "14.10 GiB", "5.00 GiB", "");
    diagnose(pieces, &known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_FRAGMENTATION);
    oom_diagnosis_fini(&diagnosis);
    /* It grew by less than was missing. */
    AUTO_FREE char *large =
        message("10.00 GiB", "20.00 GiB", "0.40 GiB", "19.60 GiB", "18.90 GiB", "0.20 GiB", "");
    diagnose(large, &known, &diagnosis);
    assert_int_equal(diagnosis.cause, OOM_CAUSE_CAPACITY);
    oom_diagnosis_fini(&diagnosis);
}

static void without_numbers_the_cause_is_unknown(void **state)
{
    (void)state;
    static const char *const logs[] = {
        "RuntimeError: CUDA error: out of memory\n",
        "RuntimeError: CUDA driver error: out of memory\n",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct oom_diagnosis diagnosis;
        diagnose(logs[i], &nothing_known, &diagnosis);
        assert_int_equal(diagnosis.cause, OOM_CAUSE_UNKNOWN);
        assert_true(diagnosis.reasons.count >= 1);
        assert_false(diagnosis.expandable_fits);
        assert_string_equal(diagnosis.remedies[0].name, "smaller_pieces");
        oom_diagnosis_fini(&diagnosis);
    }
}

/* Each row: a message whose figures, words or traceback decide. */
static void cases_of_their_own_have_their_cause_and_first_remedy(void **state)
{
    (void)state;
#define PYTORCH(requested, total, free, allocated, unallocated)                                 \
    "CUDA out of memory. Tried to allocate " requested ". GPU 0 has a total capacity of " total \
    " of which " free " is free. Of the allocated memory " allocated                            \
    " is allocated by PyTorch, and " unallocated " is reserved by PyTorch but unallocated.\n"
#define FULL                        PYTORCH("1.00 GiB", "9.00 GiB", "0.10 GiB", "8.00 GiB", "0.01 GiB")
#define FRAME(file, function, code) "  File \"" file "\", line 9, in " function "\n    " code "\n"
    static const struct {
        const char *log, *cause, *remedy;
    } rows[] = {
        {PYTORCH("1.00 GiB", "9.00 GiB", "5.00 GiB", "3.00 GiB", "0.10 GiB"), "free_above_request",
         "restart_process"},
        {PYTORCH("110.00 GiB", "79.00 GiB", "70.00 GiB", "3.00 GiB", "0.10 GiB"), "giant_request",
         "cut_tensor"},
        {"CUDA out of memory. Tried to allocate more than 1EB memory.\n", "bug_size",
         "bug_in_program"},
        {PYTORCH("1.00 GiB", "9.00 GiB", "12.00 GiB", "3.00 GiB", "0.10 GiB"), "impossible_figures",
         "smaller_batch"},
        {"[rank3]: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
         "9.00 "
         "GiB of which 0.10 GiB is free. Process 7 has 5.00 GiB memory in use. Including "
         "non-PyTorch "
         "memory, this process has 3.90 GiB memory in use.\n",
         "rank_placement", "set_device_of_rank"},
        {FRAME("a.py", "validate", "y = model(x)") FULL, "no_grad_missing",
         "no_grad_in_evaluation"},
        {FRAME("a.py", "step", "loss = F.cross_entropy(x, y)") FULL, "logits", "chunked_loss"},
        {FRAME("a.py", "f", "attn_weights = torch.matmul(q, k)") FULL, "attention",
         "flash_attention"},
        {FRAME("a.py", "f", "optimizer.step()") FULL, "optimizer_state", "8bit_optimizer"},
        {FRAME("a.py", "f", "losses.append(loss)") FULL, "growth", "drop_references"},
        {FRAME("a.py", "f", "losses.append(loss.item())") FULL, "capacity", "smaller_batch"},
        {"ValueError: No available memory for the cache blocks. Try increasing\n", "kv_cache",
         "gpu_memory_utilization"},
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n", "host_cgroup",
         "raise_cgroup_limit"},
        {"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.\n", "shm",
         "larger_shm"},
        {"OSError: [Errno 28] No space left on device: '/tmp/a.pt'\n", "disk_full", "free_disk"},
        {"epoch 3\nKilled\n", "host_killed", "more_host_memory"},
        {"out of resource: shared memory, Required: 66560, Hardware limit: 65536.\n",
         "shared_memory", "smaller_blocks"},
    };
    EACH_OF (row, rows) {
        struct oom_diagnosis diagnosis;
        diagnose(row->log, &nothing_known, &diagnosis);
        assert_string_equal(oom_cause_name(diagnosis.cause), row->cause);
        assert_true(diagnosis.reasons.count >= 1);
        assert_true(diagnosis.remedy_count >= 1);
        assert_string_equal(diagnosis.remedies[0].name, row->remedy);
        oom_diagnosis_fini(&diagnosis);
    }
}

/* "epoch 5" before the seed's message: four or five epochs had fitted. In epoch 1 none may have. */
static void a_failure_in_a_later_epoch_may_be_growth_as_well(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        int64_t epoch;
    } rows[] = {
        {"Epoch 1/30 loss 0.9\nEpoch 5/30 loss 0.5\n", 5},
        {"EPOCH [4]\n", 4},
        {"[rank] epoch: 12, step 3\n", 12},
        {"Epoch 1/30 loss 0.9\n", 1},
        {"epochs 30\n", -1},
        {"python3 train.py --epoch 30 --num_epoch=30\n", -1},
        {"Namespace(epoch=30)\n", -1},
        {"the last epoch\n", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *log = mem_printf("%s%s", rows[i].before, seed);
        struct oom_list list;
        struct oom_diagnosis diagnosis;
        oom_parse(log, strlen(log), &list);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.items[0].epoch, rows[i].epoch);
        oom_diagnose(&list.items[0], &nothing_known, &diagnosis);
        assert_int_equal(diagnosis.cause, OOM_CAUSE_FRAGMENTATION);
        assert_int_equal(diagnosis.may_grow, rows[i].epoch > 1);
        assert_order(&diagnosis,
                     rows[i].epoch > 1
                         ? "expandable_segments empty_cache drop_references smaller_batch "
                           "mixed_precision activation_checkpointing"
                         : "expandable_segments empty_cache smaller_batch "
                           "mixed_precision activation_checkpointing");
        oom_diagnosis_fini(&diagnosis);
        oom_list_fini(&list);
    }
}

static void growth_is_excluded_where_recorded_epochs_stayed_level(void **state)
{
    (void)state;
    const double level[] = {10 * GIB, 10 * GIB, 10 * GIB, 10 * GIB};
    const struct growth growth = growth_of(level, 4, 0), one = growth_of(level, 1, 0);
    struct oom_circumstances known = {.growth = &growth};
    struct oom_diagnosis diagnosis;
    diagnose(seed, &known, &diagnosis);
    assert_false(diagnosis.may_grow);
    assert_true(has_reason(&diagnosis, "Growth is not the cause"));
    assert_null(remedy(&diagnosis, "drop_references"));
    oom_diagnosis_fini(&diagnosis);
    /* One epoch ended: the second failed, and one peak shows no trend. */
    known.growth = &one;
    diagnose(seed, &known, &diagnosis);
    assert_true(diagnosis.may_grow);
    assert_true(has_reason(&diagnosis, "the failure came after the first epoch"));
    oom_diagnosis_fini(&diagnosis);
}

static void the_log_itself_shows_that_expandable_segments_were_on(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        bool advised;
    } rows[] = {
        {"+ export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n", false},
        {"declare -x PYTORCH_ALLOC_CONF=\"max_split_size_mb:64,expandable_segments:True\"\n",
         false},
        {"{'PATH': '/bin', 'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True'}\n", false},
        {"allocator: expandable_segments: True\n", false},
        {"{'expandable_segments': True}\n", false},
        {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n", true},
        {"export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False\n", true},
        {"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64\n", true},
        {"If reserved memory is large try setting "
         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n",
         true},
        {"Tip: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *log = mem_printf("%s%s", rows[i].before, seed);
        struct oom_diagnosis diagnosis;
        diagnose(log, &nothing_known, &diagnosis);
        assert_int_equal(remedy(&diagnosis, "expandable_segments") != NULL, rows[i].advised);
        oom_diagnosis_fini(&diagnosis);
    }
}

static void advice_about_running_out_is_not_a_failure(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        bool failure;
    } rows[] = {
        {"Tip: lower --batch-size on CUDA out of memory\n", false},
        {"If you encounter CUDA out of memory, use a smaller batch\n", false},
        {"Using 8 workers to avoid CUDA error: out of memory\n", false},
        {"gradient checkpointing is on to prevent CUBLAS_STATUS_ALLOC_FAILED\n", false},
        {"RuntimeError: CUDA error: out of memory\n", true},
        {"Trying to avoid it: CUDA out of memory. Tried to allocate 1.00 GiB\n", true},
        {"RuntimeError: CUDA out of memory. See the guide to avoid it\n", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oom_list list;
        const size_t length = strlen(rows[i].log);
        oom_parse(rows[i].log, length, &list);
        assert_int_equal(list.count, rows[i].failure);
        assert_int_equal(oom_line_framework(rows[i].log, length - 1) != OOM_NONE, rows[i].failure);
        oom_list_fini(&list);
    }
}

static void remedies_are_those_of_the_framework(void **state)
{
    (void)state;
    static const struct {
        const char *log, *order;
    } rows[] = {
        {"RuntimeError: CUDA error: out of memory\n", "smaller_pieces stop_holder"},
        {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.\n",
         "smaller_batch_or_input mixed_precision activation_checkpointing"},
        {"Out of memory allocating 3,000,000,000 bytes (allocated so far: 2,000,000,000 bytes, "
         "limit set to: "
         "4,000,000,000 bytes).\n",
         "raise_cap smaller_pieces"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oom_diagnosis diagnosis;
        diagnose(rows[i].log, &nothing_known, &diagnosis);
        assert_order(&diagnosis, rows[i].order);
        for (size_t k = 0; k < diagnosis.remedy_count; k++)
            assert_null(strstr(diagnosis.remedies[k].what, "torch."));
        oom_diagnosis_fini(&diagnosis);
    }
}

/* 16 GiB asked for, 7.33 GiB free: 8.67 GiB were missing, of 0.62 GiB held. */
static void an_effect_is_never_more_than_what_tensors_held(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    AUTO_FREE char *text =
        message("16.00 GiB", "11.93 GiB", "7.33 GiB", "4.60 GiB", "0.62 GiB", "0.01 GiB", "");
    diagnose(text, &nothing_known, &diagnosis);
    assert_null(strchr(remedy(&diagnosis, "smaller_batch")->effect, '%'));
    assert_non_null(strstr(remedy(&diagnosis, "smaller_batch")->effect,
                           "the request itself must become smaller"));
    oom_diagnosis_fini(&diagnosis);
}

static void private_pools_and_bare_contexts_are_pointed_out(void **state)
{
    (void)state;
    struct oom_diagnosis diagnosis;
    diagnose("CUDA out of memory. Tried to allocate 1.50 GiB. GPU 1 has a total capacity of 23.64 "
             "GiB of which 0.80 GiB is "
             "free. "
             "Process 1 has 520.00 MiB memory in use. Process 2 has 518.00 MiB memory in use. "
             "Including non-PyTorch memory, "
             "this "
             "process has 21.70 GiB memory in use. Of the allocated memory 20.95 GiB is allocated "
             "by PyTorch, with 1.00 GiB "
             "allocated in private pools (e.g., CUDA Graphs), and 0.21 GiB is reserved by PyTorch "
             "but unallocated.\n",
             &nothing_known, &diagnosis);
    assert_true(has_reason(&diagnosis, "1.00 GiB is in private pools"));
    assert_true(has_reason(&diagnosis, "2 processes hold less than 1 GiB each"));
    oom_diagnosis_fini(&diagnosis);
}

/* 0.80 + 0.51 + 0.51 GiB hold 1.50 GiB: the two contexts are all that others have. */
static void contexts_of_workers_have_their_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *others, *order;
    } rows[] = {
        {"Process 1 has 520.00 MiB memory in use. Process 2 has 518.00 MiB memory in use. ",
         "leave_workers stop_holder"},
        {"Process 1 has 520.00 MiB memory in use. Process 2 has 518.00 MiB memory in use. "
         "Process 3 has 9.00 GiB memory in use. ",
         "stop_holder leave_workers"},
        {"Process 3 has 9.00 GiB memory in use. ", "stop_holder"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oom_diagnosis diagnosis;
        AUTO_FREE char *text = message("1.50 GiB", "19.00 GiB", "0.80 GiB", "17.10 GiB",
                                       "16.60 GiB", "0.10 GiB", rows[i].others);
        diagnose(text, &nothing_known, &diagnosis);
        assert_int_equal(diagnosis.cause, OOM_CAUSE_OTHERS);
        assert_order(&diagnosis, rows[i].order);
        const struct oom_remedy *leave = remedy(&diagnosis, "leave_workers");
        if (leave)
            assert_non_null(strstr(leave->what, "torch.load(..., map_location='cpu')"));
        oom_diagnosis_fini(&diagnosis);
    }
}

/* The message has no number: what ran out is what the traceback names. */
static void a_traceback_through_pinning_names_pinned_memory(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *order;
        enum oom_cause cause;
    } rows[] = {
        {"Original Traceback (most recent call last):\n"
         "  File \"torch/utils/data/_utils/pin_memory.py\", line 64, in pin_memory\n    return "
         "data.pin_memory(device)\n",
         "RuntimeError: CUDA error: out of memory\n", "unpin", OOM_CAUSE_PINNED},
        {"RuntimeError: Caught RuntimeError in pin memory thread for device 0.\n",
         "torch.OutOfMemoryError: CUDA out of memory.\n", "unpin", OOM_CAUSE_PINNED},
        {"  File \"train.py\", line 20, in main\n    x = x.pin_memory()\n",
         "RuntimeError: CUDA error: out of memory\n", "unpin", OOM_CAUSE_PINNED},
        /* an option is no frame */
        {"DataLoader(data, pin_memory=True)\n", "RuntimeError: CUDA error: out of memory\n",
         "smaller_pieces stop_holder", OOM_CAUSE_UNKNOWN},
        {"RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n",
         "RuntimeError: CUDA error: out of memory\n", "leave_workers smaller_pieces stop_holder",
         OOM_CAUSE_UNKNOWN},
        /* the message counts the GPU's memory */
        {"RuntimeError: Caught RuntimeError in pin memory thread for device 0.\n", seed,
         "unpin expandable_segments empty_cache smaller_batch mixed_precision "
         "activation_checkpointing",
         OOM_CAUSE_FRAGMENTATION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oom_diagnosis diagnosis;
        AUTO_FREE char *log = mem_printf("%s%s", rows[i].before, rows[i].after);
        diagnose(log, &nothing_known, &diagnosis);
        assert_string_equal(oom_cause_name(diagnosis.cause), oom_cause_name(rows[i].cause));
        assert_order(&diagnosis, rows[i].order);
        oom_diagnosis_fini(&diagnosis);
    }
}

/* 61 lines after it a frame is of another failure. */
static void an_old_traceback_explains_no_later_failure(void **state)
{
    (void)state;
    for (int lines = 59; lines <= 60; lines++) {
        struct text log = {0};
        struct oom_diagnosis diagnosis;
        text_add(&log, "RuntimeError: Caught RuntimeError in pin memory thread for device 0.\n");
        for (int i = 0; i < lines; i++)
            text_add(&log, "loss 0.5\n");
        text_add(&log, "RuntimeError: CUDA error: out of memory\n");
        diagnose(text_get(&log), &nothing_known, &diagnosis);
        assert_int_equal(diagnosis.cause, lines < 60 ? OOM_CAUSE_PINNED : OOM_CAUSE_UNKNOWN);
        oom_diagnosis_fini(&diagnosis);
        text_fini(&log);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_in_pieces_is_fragmentation),
        cmocka_unit_test(both_meanings_of_the_old_messages_come_to_one_diagnosis),
        cmocka_unit_test(expandable_segments_are_not_advised_where_they_are_on),
        cmocka_unit_test(fragmentation_ends_where_the_pieces_would_not_do),
        cmocka_unit_test(a_little_slack_on_a_full_gpu_is_capacity),
        cmocka_unit_test(memory_of_other_processes_is_theirs),
        cmocka_unit_test(memory_that_nobody_lists_is_probably_of_others),
        cmocka_unit_test(this_process_is_found_among_the_numbered_ones),
        cmocka_unit_test(a_cap_is_told_from_a_full_gpu),
        cmocka_unit_test(growth_is_the_cause_where_without_it_all_had_fitted),
        cmocka_unit_test(without_numbers_the_cause_is_unknown),
        cmocka_unit_test(cases_of_their_own_have_their_cause_and_first_remedy),
        cmocka_unit_test(a_failure_in_a_later_epoch_may_be_growth_as_well),
        cmocka_unit_test(growth_is_excluded_where_recorded_epochs_stayed_level),
        cmocka_unit_test(the_log_itself_shows_that_expandable_segments_were_on),
        cmocka_unit_test(advice_about_running_out_is_not_a_failure),
        cmocka_unit_test(remedies_are_those_of_the_framework),
        cmocka_unit_test(an_effect_is_never_more_than_what_tensors_held),
        cmocka_unit_test(contexts_of_workers_have_their_remedy),
        cmocka_unit_test(a_traceback_through_pinning_names_pinned_memory),
        cmocka_unit_test(an_old_traceback_explains_no_later_failure),
        cmocka_unit_test(private_pools_and_bare_contexts_are_pointed_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
