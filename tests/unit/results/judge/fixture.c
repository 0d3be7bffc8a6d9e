#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "results/judge/judge.h"

#include "tests/unit/folder.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* 2025-11-18 08:00:00 UTC. */
#define FIRST_START_S INT64_C(1763452800)

int64_t fixture_start_s(size_t index)
{
    return FIRST_START_S + (int64_t)index * 3600;
}

void fixture_begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.dir = -1};
    const char *base = getenv("TMPDIR");
    snprintf(fixture->path, sizeof fixture->path, "%.40s/audit-XXXXXX",
             base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(fixture->path));
    fixture->dir = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->dir >= 0);
}

void fixture_end(struct fixture *fixture)
{
    close(fixture->dir);
    text_fini(&fixture->rows);
    folder_remove(fixture->path);
}

void fixture_path(const struct fixture *fixture, size_t index, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s/%s%s", fixture->path, fixture->ids[index],
             strstr(name, ".json") ? "" : "energy/", name);
}

static void write_path(const char *path, const char *bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void fixture_write(const struct fixture *fixture, size_t index, const char *name, const char *bytes)
{
    char path[256];
    fixture_path(fixture, index, name, path);
    if (bytes)
        write_path(path, bytes);
    else
        assert_int_equal(unlink(path), 0);
}

char *fixture_read(const struct fixture *fixture, size_t index, const char *name)
{
    char path[256];
    struct err err;
    struct text text = {0};
    fixture_path(fixture, index, name, path);
    assert_true(fs_read(path, 1 << 20, &text, &err));
    return text_take(&text);
}

struct sums {
    double power, lowest, highest, busy, busiest;
    int samples;
};

static void write_samples(struct fixture *fixture, size_t index, const struct fixture_run *run,
                          struct sums *sums)
{
    AUTO_TEXT struct text power = {0}, busy = {0}, heat = {0};
    text_add(&power, "timestamp,power_draw_w\n");
    text_add(&busy, "timestamp,gpu_util_percent,memory_util_percent\n");
    text_add(&heat, "timestamp,gpu_temp_c,memory_temp_c\n");
    *sums = (struct sums){.lowest = INFINITY};
    for (int i = 0; i < (int)run->duration_s; i++) {
        bool loaded = run->parallel || i >= 3;
        /* Some life in it, the same each time: thirds of a watt up and down. */
        double level = run->alone_s > 0 && i >= run->alone_s ? 0.8 * run->watts : run->watts;
        double before = run->before_watts > 0 ? run->before_watts : 70;
        double watts =
            loaded ? round(100 * (level + 0.01 * level * ((i * 7 % 5) - 2))) / 100 : before;
        double percent = loaded ? run->busy + (i * 3 % 5) - 2 : run->before_busy;
        long long t = (long long)fixture_start_s(index) + i;
        text_addf(&power, "%lld,%.2f\n", t, watts);
        text_addf(&busy, "%lld,%.0f,%.0f\n", t, percent, percent / 2);
        text_addf(&heat, "%lld,%d,N/A\n", t, run->start_c + i % 10);
        sums->power += watts;
        sums->lowest = fmin(sums->lowest, watts);
        sums->highest = fmax(sums->highest, watts);
        sums->busy += percent;
        sums->busiest = fmax(sums->busiest, percent);
        sums->samples++;
    }
    fixture_write(fixture, index, "gpu_power.csv", text_get(&power));
    fixture_write(fixture, index, "gpu_utilization.csv", text_get(&busy));
    fixture_write(fixture, index, "gpu_temperature.csv", text_get(&heat));
}

static void write_perf(struct fixture *fixture, size_t index, const struct fixture_run *run)
{
    char text[600], date[40];
    time_t start_local = (time_t)(fixture_start_s(index) + FIXTURE_ZONE_S);
    struct tm tm;
    gmtime_r(&start_local, &tm);
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", &tm);
    snprintf(text, sizeof text,
             "# started on %s\n\n\n Performance counter stats for 'system wide':\n\n"
             "          %.2f Joules power/energy-pkg/                                              "
             "       \n"
             "             57.13 Joules power/energy-ram/                                          "
             "           \n\n"
             "      %.9f seconds time elapsed\n\n",
             date, run->cpu_j, run->duration_s - 0.3);
    fixture_write(fixture, index, "cpu_energy_raw.txt", text);
    snprintf(text, sizeof text,
             "CPU Energy Consumption Summary\nPackage Energy (Joules): %.2f\nRAM Energy (Joules): "
             "57.13\n",
             run->cpu_j);
    fixture_write(fixture, index, "cpu_energy.txt", text);
}

static void write_json(struct fixture *fixture, size_t index, const struct fixture_run *run,
                       const char *end)
{
    AUTO_TEXT struct text text = {0}, job = {0};
    text_addf(&job,
              "\"repository\": \"%s\", \"model\": \"%s\", \"hyperparameters\": {\"epochs\": %d, "
              "\"batch_size\": %g}, "
              "\"duration_seconds\": %.17g, \"performance_metrics\": {%s}, \"training_success\": "
              "%s, \"retries\": %d, "
              "\"error_message\": \"%s\"",
              run->repo, run->model, run->epochs, run->batch_size, run->duration_s,
              run->no_metrics         ? ""
              : run->no_second_metric ? "\"accuracy\": 91.5"
                                      : "\"accuracy\": 91.5, \"loss\": 0.25",
              run->failed ? "false" : "true", run->retries,
              run->failed ? "it broke" : "Training completed successfully");
    text_addf(&text, "{\"experiment_id\": \"%s\", \"timestamp\": \"%s\", ", fixture->ids[index],
              end);
    if (run->parallel)
        text_addf(&text,
                  "\"mode\": \"parallel\", \"foreground\": {%s}, \"background\": {\"repository\": "
                  "\"demo\", \"model\": "
                  "\"other\"}}",
                  text_get(&job));
    else
        text_addf(&text, "%s}", text_get(&job));
    fixture_write(fixture, index, "experiment.json", text_get(&text));
}

static struct fixture_run completed(const struct fixture_run *given)
{
    struct fixture_run run = *given;
    run.repo = run.repo ? run.repo : "demo";
    run.model = run.model ? run.model : "net";
    run.duration_s = run.duration_s > 0 ? run.duration_s : 60;
    run.watts = run.watts > 0 ? run.watts : 200;
    run.busy = run.busy > 0 ? run.busy : 90;
    run.epochs = run.epochs ? run.epochs : 2;
    run.cpu_j = run.cpu_j > 0 ? run.cpu_j : 1733.17;
    run.start_c = run.start_c ? run.start_c : 50;
    run.batch_size = run.batch_size > 0 ? run.batch_size : 32;
    return run;
}

size_t fixture_add(struct fixture *fixture, const struct fixture_run *given)
{
    struct fixture_run run = completed(given);
    struct sums sums;
    size_t index = fixture->count++;
    char path[256], end[40];
    assert_true(index < 64);
    snprintf(fixture->ids[index], sizeof fixture->ids[index], "%s_%s_%03zu%s", run.repo, run.model,
             index + 1, run.parallel ? "_parallel" : "");
    snprintf(path, sizeof path, "%s/%s", fixture->path, fixture->ids[index]);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/%s/energy", fixture->path, fixture->ids[index]);
    assert_int_equal(mkdir(path, 0755), 0);
    dataset_format_time(
        (int64_t)((double)(fixture_start_s(index) + FIXTURE_ZONE_S) + run.duration_s) * NS_PER_S,
        end);
    write_samples(fixture, index, &run, &sums);
    write_perf(fixture, index, &run);
    write_json(fixture, index, &run, end);
    text_addf(&fixture->rows, "%s,%s,%s,%s,%s,%.17g,%d,%g,%d,%s,%s,%.17g,%.17g,%.17g,%.17g\r\n",
              fixture->ids[index], end, run.repo, run.model, run.failed ? "False" : "True",
              run.duration_s, run.retries, run.batch_size, run.epochs, run.no_metrics ? "" : "91.5",
              run.no_metrics || run.no_second_metric ? "" : "0.25", sums.power / sums.samples,
              sums.highest, sums.lowest, sums.power);
    return index;
}

/* The row's mean, highest and lowest power are those of the trace that stands there now. */
void fixture_record(struct fixture *fixture, size_t index, double energy_j)
{
    AUTO_FREE char *id = mem_printf("%s,", fixture->ids[index]);
    AUTO_FREE char *trace = fixture_read(fixture, index, "gpu_power.csv");
    double sum = 0, low = INFINITY, high = 0;
    int samples = 0;
    for (char *line = strchr(trace, '\n'); line && line[1];
         line = strchr(line + 1, '\n'), samples++) {
        double watts = atof(strchr(line + 1, ',') + 1);
        sum += watts;
        low = fmin(low, watts);
        high = fmax(high, watts);
    }
    struct text rows = {0};
    const char *row = strstr(fixture->rows.data, id), *end = strstr(row, "\r\n"), *cell = end;
    for (int cells = 0; cells < 4; cells += cell[-1] == ',')
        cell--;
    text_add_bytes(&rows, fixture->rows.data, (size_t)(cell - fixture->rows.data));
    text_addf(&rows, "%.17g,%.17g,%.17g,%.17g%s", sum / samples, high, low, energy_j, end);
    text_fini(&fixture->rows);
    fixture->rows = rows;
}

void fixture_judge(struct fixture *fixture, struct dataset *dataset)
{
    struct err err;
    char path[256];
    AUTO_FREE char *csv = mem_printf("experiment_id,timestamp,repository,model,training_success,"
                                     "duration_seconds,retries,hyperparam_batch_size,"
                                     "hyperparam_epochs,perf_accuracy,perf_loss,energy_gpu_avg_"
                                     "watts,energy_gpu_max_watts,energy_gpu_min_watts,"
                                     "energy_gpu_total_joules\r\n%s",
                                     text_get(&fixture->rows));
    snprintf(path, sizeof path, "%s/summary.csv", fixture->path);
    if (fixture->rows.length)
        write_path(path, csv);
    *dataset = (struct dataset){0};
    if (!dataset_read(dataset, fixture->path, &err))
        fail_msg("%s", err.text);
    audit_judge(dataset);
}

static bool names(const char *kinds, const char *kind)
{
    const char *at = kinds ? strstr(kinds, kind) : NULL;
    return at && (at == kinds || at[-1] == ' ') &&
           (at[strlen(kind)] == '\0' || at[strlen(kind)] == ' ');
}

/* What it weighs is at least its verdict: a check that could not be made can only add to it. */
void fixture_expect(const struct dataset *dataset, size_t index, const char *kinds)
{
    const struct dataset_experiment *experiment = &dataset->items[index];
    size_t wanted = 0, found = 0;
    enum verdict least = VERDICT_CLEAN;
    for (const char *at = kinds; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
        wanted++;
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        const char *kind = experiment->evidence[i].kind;
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first &= strcmp(experiment->evidence[k].kind, kind) != 0;
        if (!names(kinds, kind))
            fail_msg("%s has %s: %s", experiment->id, kind, experiment->evidence[i].text);
        found += first;
        least = verdict_with(least, kind);
    }
    if (found != wanted)
        fail_msg("%s has not all of: %s", experiment->id, kinds);
    assert_true(experiment->verdict >= least);
    assert_true(kinds || experiment->verdict <= VERDICT_UNVERIFIED);
}

void fixture_expect_alone(const struct dataset *dataset, size_t index, const char *kind)
{
    for (size_t i = 0; i < dataset->count; i++)
        fixture_expect(dataset, i, i == index ? kind : NULL);
}

bool fixture_lacks_processes_alone(const struct dataset_experiment *experiment)
{
    bool lacks = false;
    EACH (result, experiment->checks, experiment->check_count) {
        if (result->outcome != CHECK_NOT_MADE)
            continue;
        if (result->check != CHECK_PROCESSES_DURING ||
            strcmp(result->text, DATASET_NO_PROCESSES) != 0)
            return false;
        lacks = true;
    }
    return lacks && experiment->verdict == VERDICT_UNVERIFIED;
}
