#include "session/energy_text.h"

static const double BYTES_PER_MIB = 1 << 20;

static void add_value(struct text *out, int indent, int width, double value, int digits, const char *unit)
{
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "%.*f%s", digits, value, unit);
    text_addf(out, "%*s%*s  ", indent, "", width, text_get(&text));
}

static void add_io(const struct host_job_figures *job, int indent, int width, struct text *out)
{
    if (job->read_bytes.valid && job->written_bytes.valid) {
        add_value(out, indent, width, job->read_bytes.value / BYTES_PER_MIB, 1, " MiB");
        text_addf(out, "read from storage, %.1f MiB written\n", job->written_bytes.value / BYTES_PER_MIB);
    } else if (job->io_refused > 0) {
        text_addf(out, "%*s%*s  read and written: only the user of the processes, and root, may see that\n", indent, "",
                  width, "unknown");
    }
}

void energy_host_text(const struct gauge_result *result, double duration_s, int indent, int width, struct text *out)
{
    const struct host_job_figures *job = &result->job;
    if (!job->cpu_s.valid && !job->memory_peak_bytes.valid)
        return;
    if (job->cpu_s.valid) {
        add_value(out, indent, width, job->cpu_s.value, 2, " s");
        text_addf(out, "CPU time of its processes, %.2f CPUs in the mean\n",
                  duration_s > 0 ? job->cpu_s.value / duration_s : 0);
    }
    if (job->memory_peak_bytes.valid) {
        add_value(out, indent, width, job->memory_peak_bytes.value / BYTES_PER_MIB, 1, " MiB");
        text_addf(out, "memory at most, %s\n",
                  job->memory_charged ? "with its share of the file cache"
                                      : "resident: its largest process, or all at one of the samples taken each second");
    }
    add_io(job, indent, width, out);
    if (job->processes_peak.valid) {
        add_value(out, indent, width, job->processes_peak.value, 0, "");
        text_addf(out, "process%s at most, of those seen once a second\n", job->processes_peak.value == 1 ? "" : "es");
    }
    text_add_char(out, '\n');
}
