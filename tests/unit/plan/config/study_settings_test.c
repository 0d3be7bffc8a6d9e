/* The study's own files, read in place. The numbers were counted with Python's json module. */
#include "expect.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"

#include <dirent.h>
#include <unistd.h>

#define FOLDER PROJECT_ROOT "/../shared/data/settings/"

static char *find_file(const char *name)
{
    char *path = mem_printf(FOLDER "%s", name);
    if (access(path, R_OK) == 0)
        return path;
    print_message("# skipped: %s is not there\n", path);
    free(path);
    return NULL;
}

static void every_settings_file_is_read_without_a_problem(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t entries, parallel, mutated;
        int64_t runs, max_retries;
        const char *governor;
    } rows[] = {
        {"11_models_quick_validation_1epoch.json", 22, 11, 0, 22, 2, "performance"},
        {"gpu_memory_cleanup_test.json", 5, 0, 0, 10, 1, "performance"},
        {"mutation_all_models_2x_dynamic.json", 80, 40, 80, 160, 2, "performance"},
        {"mutation_validation_1x.json", 80, 40, 80, 80, 2, "performance"},
        {"parallel_example.json", 1, 1, 1, 2, 2, "performance"},
        {"parallel_feasibility_test.json", 12, 12, 0, 12, 1, "performance"},
        {"stage_final_all_remaining.json", 26, 21, 26, 110, 2, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *path = find_file(rows[i].name);
        if (!path)
            skip();
        AUTO(problems_fini) struct problems problems = {0};
        AUTO(settings_fini) struct settings settings;
        bool good = settings_read(path, &settings, &problems);
        expect_problems(&problems, LINES());
        assert_true(good);
        size_t parallel = 0, mutated = 0;
        int64_t runs = 0;
        for (size_t k = 0; k < settings.entry_count; k++) {
            const struct entry_settings *entry = &settings.entries[k];
            parallel += entry->parallel;
            mutated += entry->foreground.mode == MODE_MUTATION;
            runs += entry->runs;
            assert_int_equal(entry->max_retries, rows[i].max_retries);
            if (rows[i].governor)
                assert_string_equal(entry->governor, rows[i].governor);
            else
                assert_null(entry->governor);
        }
        assert_int_equal(settings.entry_count, rows[i].entries);
        assert_int_equal(parallel, rows[i].parallel);
        assert_int_equal(mutated, rows[i].mutated);
        assert_int_equal(runs, rows[i].runs);
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* Whatever else of the study's lies there; fourteen of its files have a key "comment" twice in an
 * entry. */
static void every_file_in_the_folder_is_read(void **state)
{
    (void)state;
    DIR *folder = opendir(FOLDER);
    if (!folder) {
        print_message("# skipped: %s is not there\n", FOLDER);
        skip();
    }
    size_t read = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!ends_with(entry->d_name, ".json") || strcmp(entry->d_name, "models_config.json") == 0)
            continue;
        AUTO_FREE char *path = mem_printf(FOLDER "%s", entry->d_name);
        AUTO(problems_fini) struct problems problems = {0};
        AUTO(settings_fini) struct settings settings;
        if (!settings_read(path, &settings, &problems) || settings.entry_count == 0)
            print_message("# %s\n", path);
        expect_problems(&problems, LINES());
        assert_true(settings.entry_count > 0);
        read++;
    }
    closedir(folder);
    assert_true(read >= 7);
}

/* 80 entries, as counted in the file; each gets two comments more. */
static void comments_that_are_repeated_in_every_entry_change_nothing(void **state)
{
    (void)state;
    AUTO_FREE char *path = find_file("mutation_validation_1x.json");
    if (!path)
        skip();
    AUTO_TEXT struct text text = {0}, more = {0};
    assert_true(fs_read(path, 1 << 20, &text, NULL));
    const char *at = text_get(&text);
    for (const char *found; (found = strstr(at, "\"repo\":")); at = found + 1) {
        text_add_bytes(&more, at, (size_t)(found - at));
        text_add(&more, "\"comment\": \"again\", \"comment\": {\"repo\": 1, \"repo\": 2}, \"");
    }
    text_add(&more, at);
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    bool good = settings_parse("s", text_get(&more), more.length, &settings, &problems);
    expect_problems(&problems, LINES());
    assert_true(good);
    assert_int_equal(settings.entry_count, 80);
}

static void the_stage_file_keeps_its_history_and_the_places_of_its_entries(void **state)
{
    (void)state;
    AUTO_FREE char *path = find_file("stage_final_all_remaining.json");
    if (!path)
        skip();
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(settings_fini) struct settings settings;
    assert_true(settings_read(path, &settings, &problems));
    assert_true(settings.deduplicate);
    assert_int_equal(settings.historical_csvs.count, 1);
    assert_string_equal(settings.historical_csvs.items[0], "data/raw_data.csv");
    assert_int_equal(settings.entries[0].index, 1); /* 0 is a comment */
    assert_string_equal(settings.entries[0].foreground.model, "pcb");
    assert_string_equal(settings.entries[0].background.model, "densenet121");
    /* "mutate_params": ["epochs"], "mode": "nonparallel", "runs_per_config": 7 */
    const struct entry_settings *mrt = &settings.entries[17];
    assert_string_equal(mrt->foreground.repo, "MRT-OAST");
    assert_false(mrt->parallel);
    assert_int_equal(mrt->runs, 7);
    assert_int_equal(mrt->foreground.mutate.count, 1);
    assert_string_equal(mrt->foreground.mutate.items[0], "epochs");
}

static void the_registry_is_read_and_lacks_only_its_repositories(void **state)
{
    (void)state;
    AUTO_FREE char *path = find_file("models_config.json");
    if (!path)
        skip();
    static const struct {
        const char *name;
        size_t models, params, metrics;
    } rows[] = {
        {"MRT-OAST", 1, 5, 4},
        {"bug-localization-by-dnn-and-rvsm", 1, 4, 4},
        {"pytorch_resnet_cifar10", 4, 4, 2},
        {"VulBERTa", 2, 4, 4},
        {"Person_reID_baseline_pytorch", 3, 4, 3},
        {"examples", 5, 4, 3},
    };
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    bool good = registry_read(path, &registry, &problems);
    expect_problems(&problems, LINES());
    assert_true(good);
    assert_int_equal(registry.repo_count, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < registry.repo_count; i++) {
        assert_string_equal(registry.repos[i].name, rows[i].name);
        assert_int_equal(registry.repos[i].models.count, rows[i].models);
        assert_int_equal(registry.repos[i].param_count, rows[i].params);
        assert_int_equal(registry.repos[i].metric_count, rows[i].metrics);
        assert_string_equal(registry.repos[i].train_script, "./train.sh");
    }
    const struct repo *vulberta = registry_find(&registry, "VulBERTa");
    AUTO_FREE char *args = strv_join(&vulberta->required_args, "|");
    assert_string_equal(args, "-d|d2a");
    const struct param *rate = repo_param(vulberta, "learning_rate");
    assert_true(rate->default_value.real == 3e-5 && rate->low == 1.5e-5 && rate->high == 4.5e-5);
    assert_int_equal(rate->distribution, DISTRIBUTION_LOG_UNIFORM);
    assert_string_equal(rate->flag, "--learning_rate");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_in_the_folder_is_read),
        cmocka_unit_test(comments_that_are_repeated_in_every_entry_change_nothing),
        cmocka_unit_test(every_settings_file_is_read_without_a_problem),
        cmocka_unit_test(the_stage_file_keeps_its_history_and_the_places_of_its_entries),
        cmocka_unit_test(the_registry_is_read_and_lacks_only_its_repositories),
    };
    return cmocka_run_group_tests_name("the study's settings", tests, NULL, NULL);
}
