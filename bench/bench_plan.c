/* Plans a settings file as "tare run" does before it starts anything. Prints "KEY VALUE" lines:
 * experiments, problems, seconds (from reading the files to the finished plan), rss_kib (peak). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "plan/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static bool plan_files(const char *registry_path, const char *settings_path)
{
    const struct plan_options options = {
        .has_seed = true, .seed = 1, .cwd = "/", .path = getenv("PATH")};
    struct registry registry = {0};
    struct settings settings = {0};
    struct problems problems = {0};
    struct plan plan = {0};
    int64_t began_ns = clock_monotonic_ns();
    bool ok = registry_read(registry_path, &registry, &problems);
    ok = settings_read(settings_path, &settings, &problems) && ok;
    ok = plan_make(&settings, &registry, &options, &plan, &problems) && ok;
    double seconds = (double)(clock_monotonic_ns() - began_ns) / NS_PER_S;
    for (size_t i = 0; i < problems.count; i++) {
        AUTO_FREE char *text = problem_format(&problems.items[i]);
        fprintf(stderr, "%s\n", text);
    }
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    printf("experiments %zu\nproblems %zu\nseconds %.4f\nrss_kib %ld\n", plan.count, problems.count,
           seconds, usage.ru_maxrss);
    plan_fini(&plan);
    problems_fini(&problems);
    settings_fini(&settings);
    registry_fini(&registry);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_plan REGISTRY SETTINGS\n");
        return 2;
    }
    return plan_files(argv[1], argv[2]) ? 0 : 1;
}
