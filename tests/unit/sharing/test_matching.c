/* The heaviest matching against all subsets tried (dynamic programming), and graphs whose answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "sharing/schedule.h"

#include <stdlib.h>
#include <string.h>

/* best[set]: the most that the points of the set can have among each other: the lowest of them alone, or with
 * another. */
static int64_t by_subsets(const int64_t *weights, size_t count)
{
    int64_t *best = mem_array((size_t)1 << count, sizeof *best);
    for (size_t set = 1; set < (size_t)1 << count; set++) {
        size_t low = 0;
        while (!(set >> low & 1))
            low++;
        best[set] = best[set & ~((size_t)1 << low)];
        for (size_t other = low + 1; other < count; other++) {
            if (!(set >> other & 1) || weights[low * count + other] <= 0)
                continue;
            int64_t sum = weights[low * count + other] + best[set & ~((size_t)1 << low) & ~((size_t)1 << other)];
            best[set] = sum > best[set] ? sum : best[set];
        }
    }
    int64_t all = best[((size_t)1 << count) - 1];
    free(best);
    return all;
}

/* It is a matching of edges that there are, and weighs what is said. */
static int64_t weighed(const int64_t *weights, size_t count, int64_t said, const size_t *mates)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(mates[i] < count && mates[mates[i]] == i);
        if (mates[i] > i) {
            assert_true(weights[i * count + mates[i]] > 0);
            sum += weights[i * count + mates[i]];
        }
    }
    assert_true(sum == said);
    return sum;
}

static void set_edge(int64_t *weights, size_t count, size_t a, size_t b, int64_t weight)
{
    weights[a * count + b] = weights[b * count + a] = weight;
}

static void it_is_as_heavy_as_all_subsets_tried(void **state)
{
    (void)state;
    struct rng rng;
    size_t mates[14];
    rng_seed(&rng, 7);
    for (int round = 0; round < 4000; round++) {
        size_t count = 1 + (size_t)rng_below(&rng, 11);
        /* Few different weights make ties and blossoms; few edges make odd circles that stand apart. */
        uint64_t kinds = 1 + rng_below(&rng, round % 3 == 0 ? 4 : 1000000), rare = 1 + rng_below(&rng, 4);
        int64_t weights[14 * 14] = {0};
        for (size_t i = 0; i < count; i++)
            for (size_t j = i + 1; j < count; j++)
                set_edge(weights, count, i, j, rng_below(&rng, rare) == 0 ? (int64_t)rng_below(&rng, kinds + 1) : 0);
        int64_t said = matching_heaviest(weights, count, mates);
        assert_true(weighed(weights, count, said, mates) == by_subsets(weights, count));
    }
}

static void it_is_so_for_eighteen_points(void **state)
{
    (void)state;
    struct rng rng;
    size_t mates[18];
    int64_t weights[18 * 18];
    rng_seed(&rng, 11);
    for (int round = 0; round < 12; round++) {
        memset(weights, 0, sizeof weights);
        for (size_t i = 0; i < 18; i++)
            for (size_t j = i + 1; j < 18; j++)
                set_edge(weights, 18, i, j, rng_below(&rng, 3) ? (int64_t)rng_below(&rng, 50) : 0);
        int64_t said = matching_heaviest(weights, 18, mates);
        assert_true(weighed(weights, 18, said, mates) == by_subsets(weights, 18));
    }
}

/* Taking the heaviest edge first gives 10 here; 9 + 9 are more. */
static void it_is_not_greedy(void **state)
{
    (void)state;
    int64_t weights[16] = {0};
    size_t mates[4];
    set_edge(weights, 4, 0, 1, 9);
    set_edge(weights, 4, 1, 2, 10);
    set_edge(weights, 4, 2, 3, 9);
    assert_true(matching_heaviest(weights, 4, mates) == 18);
    assert_true(mates[0] == 1 && mates[2] == 3);
}

/* A circle of five with a point hanging on it: the circle must be shrunk. */
static void odd_circles_are_seen_through(void **state)
{
    (void)state;
    int64_t weights[36] = {0};
    size_t mates[6];
    for (size_t i = 0; i < 5; i++)
        set_edge(weights, 6, i, (i + 1) % 5, 8);
    set_edge(weights, 6, 2, 5, 7);
    assert_true(matching_heaviest(weights, 6, mates) == 23);
    assert_true(mates[2] == 5);
}

static void points_without_edges_stay_alone(void **state)
{
    (void)state;
    int64_t weights[9] = {0};
    size_t mates[3];
    assert_true(matching_heaviest(weights, 3, mates) == 0);
    assert_true(mates[0] == 0 && mates[1] == 1 && mates[2] == 2);
    set_edge(weights, 3, 0, 2, -5);
    assert_true(matching_heaviest(weights, 3, mates) == 0);
    assert_true(matching_heaviest(weights, 0, mates) == 0);
}

/* Point i and i + 1 (i even) belong together by far: known without trying. */
static void four_hundred_points_are_done(void **state)
{
    (void)state;
    enum { COUNT = SANITIZED ? 100 : 400 };
    int64_t *weights = mem_array((size_t)COUNT * COUNT, sizeof *weights);
    size_t *mates = mem_array(COUNT, sizeof *mates);
    struct rng rng;
    rng_seed(&rng, 3);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = i + 1; j < COUNT; j++)
            set_edge(weights, COUNT, i, j, (int64_t)rng_below(&rng, 1000) + (i % 2 == 0 && j == i + 1 ? 1000000 : 0));
    int64_t said = matching_heaviest(weights, COUNT, mates);
    weighed(weights, COUNT, said, mates);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(mates[i] == (i ^ 1));
    free(weights);
    free(mates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_as_heavy_as_all_subsets_tried),
        cmocka_unit_test(it_is_so_for_eighteen_points),
        cmocka_unit_test(it_is_not_greedy),
        cmocka_unit_test(odd_circles_are_seen_through),
        cmocka_unit_test(points_without_edges_stay_alone),
        cmocka_unit_test(four_hundred_points_are_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
