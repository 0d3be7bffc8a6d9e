/* Matches a file as a job's output: read() of 64 KiB at a time, every line against the patterns
 * given, the log and the line times written to the paths given. Prints "KEY VALUE" lines: count_<n>
 * (matching lines per pattern), lines, seconds, rss_kib (peak). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "run/log/joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define PATTERNS_MAX 64
#define READ_BYTES   (64 << 10)

static bool feed(struct joblog *log, int in, struct err *err)
{
    static char buffer[READ_BYTES];
    for (;;) {
        ssize_t got = read(in, buffer, sizeof buffer);
        if (got < 0)
            return err_sys(err, "read");
        if (got == 0)
            return joblog_end(log, clock_monotonic_ns(), err);
        if (!joblog_add_bytes(log, buffer, (size_t)got, clock_monotonic_ns(), err))
            return false;
    }
}

static void print_results(const struct joblog *log, int64_t took_ns)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    for (size_t i = 0; i < joblog_result_count(log); i++)
        printf("count_%zu %" PRIu64 "\n", i, joblog_result(log, i)->matches);
    printf("lines %" PRIu64 "\n", joblog_totals(log).lines);
    printf("limited_lines %" PRIu64 "\n", joblog_totals(log).limited_lines);
    printf("seconds %.3f\n", (double)took_ns / (double)NS_PER_S);
    printf("rss_kib %ld\n", usage.ru_maxrss);
}

int main(int argc, char **argv)
{
    struct joblog_pattern patterns[PATTERNS_MAX];
    struct err err = {0};
    if (argc < 5 || argc - 4 > PATTERNS_MAX) {
        fprintf(stderr, "usage: bench_match FILE LOG TIMES PATTERN...\n");
        return 2;
    }
    AUTO_CLOSE int in = open(argv[1], O_RDONLY | O_CLOEXEC);
    int log_fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int times_fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (in < 0 || log_fd < 0 || times_fd < 0) {
        fprintf(stderr, "bench_match: cannot open a file: %s\n", strerror(errno));
        return 2;
    }
    for (int i = 4; i < argc; i++)
        patterns[i - 4] =
            (struct joblog_pattern){.role = JOBLOG_METRIC, .name = argv[i], .source = argv[i]};
    int64_t began_ns = clock_monotonic_ns();
    struct joblog *log = joblog_new(&(struct joblog_options){.log_fd = log_fd,
                                                             .times_fd = times_fd,
                                                             .start_ns = began_ns,
                                                             .patterns = patterns,
                                                             .pattern_count = (size_t)(argc - 4)},
                                    &err);
    if (!log || !feed(log, in, &err)) {
        fprintf(stderr, "bench_match: %s\n", err.text);
        joblog_free(log);
        return 2;
    }
    print_results(log, clock_monotonic_ns() - began_ns);
    joblog_free(log);
    return 0;
}
