#include "results/judge/places.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "results/judge/dataset.h"

#include "one_folder.h"

#include <string.h>

static struct dataset dataset;

static int set_up(void **state)
{
    (void)state;
    dataset = (struct dataset){0};
    one_folder_make(&dataset, DATASET_TARE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dataset_fini(&dataset);
    return 0;
}

static void add(enum dataset_fact fact, const char *value)
{
    struct dataset_experiment *experiment = dataset_add(&dataset);
    experiment->id = mem_strdup("");
    experiment->repo = mem_strdup("");
    experiment->model = mem_strdup("");
    experiment->judged = true;
    if (value)
        experiment->facts[fact] = mem_strdup(value);
}

static void groups_are_by_size_and_then_by_value(void **state)
{
    (void)state;
    static const char *const values[] = {"gpu10", "gpu9", "gpu2", NULL, "gpu9", "gpu10", "gpu10"};
    static const size_t items[] = {0, 1, 2, 3, 4, 5, 6};
    struct places_group *groups;
    size_t count;
    for (size_t i = 0; i < 7; i++)
        add(FACT_GPU_MODEL, values[i]);
    places_group_by(&dataset, items, 7, FACT_GPU_MODEL, &groups, &count);
    assert_int_equal(count, 3);
    assert_string_equal(groups[0].value, "gpu10");
    assert_int_equal(groups[0].count, 3);
    assert_int_equal(groups[0].items[2], 6);
    assert_string_equal(groups[1].value, "gpu9");
    assert_string_equal(groups[2].value, "gpu2");
    places_groups_fini(groups, count);
    /* equally many: 9 before 10, as people count */
    places_group_by(&dataset, items, 2, FACT_GPU_MODEL, &groups, &count);
    assert_string_equal(groups[0].value, "gpu9");
    places_groups_fini(groups, count);
    places_group_by(&dataset, &items[3], 1, FACT_GPU_MODEL, &groups, &count);
    assert_int_equal(count, 0);
    places_groups_fini(groups, count);
}

static void a_difference_needs_two_known_values(void **state)
{
    (void)state;
    struct places places;
    add(FACT_DRIVER, "535.1");
    add(FACT_DRIVER, NULL);
    places_find(&dataset, &places);
    assert_int_equal(places.count, 0);
    places_fini(&places);
    add(FACT_DRIVER, "550.2");
    add(FACT_NODE, "n1"); /* of nodes nothing is said */
    add(FACT_NODE, "n2");
    places_find(&dataset, &places);
    assert_int_equal(places.count, 1);
    assert_int_equal(places.items[0].fact, FACT_DRIVER);
    assert_int_equal(places.items[0].count, 2);
    assert_int_equal(places.items[0].unknown, 3);
    places_fini(&places);
    dataset.items[0].judged = false;
    places_find(&dataset, &places);
    assert_int_equal(places.count, 0);
    places_fini(&places);
}

static void other_hardware_makes_figures_suspect_and_other_software_is_recorded(void **state)
{
    (void)state;
    static const struct {
        enum dataset_fact fact;
        const char *name;
        enum evidence_weight weight;
        bool gpu, cpu; /* it may change their energies */
    } rows[] = {{FACT_NODE, "node", EVIDENCE_RECORDED, true, true},
                {FACT_GPU_MODEL, "gpu_model", EVIDENCE_SUSPECT, true, false},
                {FACT_POWER_LIMIT, "power_limit", EVIDENCE_SUSPECT, true, false},
                {FACT_CPU, "cpu_model", EVIDENCE_SUSPECT, false, true},
                {FACT_DRIVER, "driver", EVIDENCE_RECORDED, true, false},
                {FACT_KERNEL, "kernel", EVIDENCE_RECORDED, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool gpu = false, cpu = false;
        assert_string_equal(places_fact_name(rows[i].fact), rows[i].name);
        assert_int_equal(places_weight(rows[i].fact), rows[i].weight);
        for (const char *const *figure = places_figures(rows[i].fact); *figure; figure++) {
            gpu |= strcmp(*figure, "gpu_energy_j") == 0;
            cpu |= strcmp(*figure, "cpu_energy_j") == 0;
        }
        assert_true(gpu == rows[i].gpu && cpu == rows[i].cpu);
    }
}

/* Two sides of a comparison: values of side A, then of side B. */
static void compare(enum dataset_fact fact, const char *const *values, size_t a, size_t b,
                    struct comparison_places *out)
{
    static size_t items[20], stratum[20];
    struct comparison comparison = {0};
    for (size_t i = 0; i < a + b; i++) {
        items[i] = dataset.count;
        add(fact, values[i]);
    }
    comparison.dataset = dataset;
    comparison.sides[0] = (struct comparison_side){.items = items, .count = a, .stratum = stratum};
    comparison.sides[1] =
        (struct comparison_side){.items = items + a, .count = b, .stratum = stratum + a};
    comparison_places_find(&comparison, out);
}

/* Half of the sum of the differences of shares. */
static void sides_are_apart_by_the_shares_that_they_do_not_have_in_common(void **state)
{
    (void)state;
    static const char *const all[] = {"x", "x", "y", "y"}, *const half[] = {"x", "x", "x", "y"},
                             *const third[] = {"x", "x", "y", "x", "x", "x"};
    struct comparison_places places;
    compare(FACT_GPU_MODEL, all, 2, 2, &places);
    assert_int_equal(places.count, 1);
    assert_true(places.items[0].apart == 1 && places.items[0].confounded);
    comparison_places_fini(&places);
    compare(FACT_GPU_MODEL, half, 2, 2, &places);
    assert_int_equal(places.count, 1);
    assert_true(places.items[0].apart == 0.5 && !places.items[0].confounded);
    comparison_places_fini(&places);
    compare(FACT_GPU_MODEL, third, 3, 3, &places); /* a third: chance */
    assert_int_equal(places.count, 0);
    comparison_places_fini(&places);
}

#define FRESH(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(groups_are_by_size_and_then_by_value),
        FRESH(a_difference_needs_two_known_values),
        cmocka_unit_test(other_hardware_makes_figures_suspect_and_other_software_is_recorded),
        FRESH(sides_are_apart_by_the_shares_that_they_do_not_have_in_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
