/* The page of a calibration: what was commanded against what was read. */
#include "base/clock.h"
#include "doctor/calibrate.h"
#include "report/html.h"

#include <math.h>

#define WIDTH  1000.0
#define HEIGHT 240.0
#define ROOM   0.08 /* of the height, above and below */

static const char style[] =
    ".c{fill:none;stroke:var(--ink);stroke-width:1.5;background:var(--ink)}"
    ".samples{fill:var(--power);background:var(--power)}.power{fill:var(--suspect);background:var(--suspect)}"
    ".f{fill:none;stroke:var(--line)}";

/* Time from left to right, in seconds; power upwards. */
struct plot {
    double from_s, to_s, least_w, most_w;
};

static double x_of(const struct plot *plot, double t_s)
{
    return WIDTH * (t_s - plot->from_s) / (plot->to_s - plot->from_s);
}

static double y_of(const struct plot *plot, double power_w)
{
    return HEIGHT * (1 - (power_w - plot->least_w) / (plot->most_w - plot->least_w));
}

static const struct calibration_readings *readings_of(const struct calibration_data *data, int series)
{
    return &data->series[series];
}

/* The readings around one moment, by time since then: a reading of the power figure counts when its value is new. */
static void add_dots(const struct calibration_data *data, int series, const struct plot *plot, int64_t zero_ns,
                     struct text *out)
{
    const struct calibration_readings *readings = readings_of(data, series);
    for (size_t i = 1; i < readings->count; i++) {
        const struct sensor_reading *at = &readings->items[i];
        double t_s = (double)(at->before_ns / 2 + at->after_ns / 2 - zero_ns) / 1e9;
        if (t_s < plot->from_s || t_s > plot->to_s || (series == CALIBRATION_POWER && at->value == at[-1].value))
            continue;
        text_addf(out, "<circle class=%s r=2 cx=%.1f cy=%.1f />", calibration_series_names[series], x_of(plot, t_s),
                  y_of(plot, at->value));
    }
}

static void begin_plot(struct text *out, const struct plot *plot, const char *title)
{
    html_heading(out, title);
    html_figure(out, title, -4, WIDTH, HEIGHT + 24);
    text_addf(out, "<rect class=f x=0 y=0 width=%.0f height=%.0f />", WIDTH, HEIGHT);
    text_addf(out, "<text x=4 y=12>%.0f W</text><text x=4 y=%.0f>%.0f W</text>", plot->most_w, HEIGHT - 4,
              plot->least_w);
}

static void end_plot(struct text *out, const struct plot *plot, double scale, const char *unit)
{
    text_addf(out, "<text x=0 y=%.0f>%.0f %s</text>", HEIGHT + 14, plot->from_s * scale, unit);
    text_addf(out, "<text x=%.0f y=%.0f text-anchor=end>%.0f %s</text></svg>\n", WIDTH, HEIGHT + 14, plot->to_s * scale,
              unit);
}

static void add_course(const struct calibration_data *data, const struct plot *plot, double idle_w, double load_w,
                       struct text *out)
{
    int64_t zero_ns = data->loads[0].begin_ns;
    begin_plot(out, plot, "The first seconds");
    text_addf(out, "<path class=c d=\"M0 %.1f", y_of(plot, idle_w));
    for (size_t i = 0; i < data->load_count; i++) {
        double begin_s = (double)(data->loads[i].begin_ns - zero_ns) / 1e9;
        double end_s = (double)(data->loads[i].end_ns - zero_ns) / 1e9;
        if (begin_s > plot->to_s)
            break;
        text_addf(out, "H%.1fV%.1fH%.1fV%.1f", x_of(plot, begin_s), y_of(plot, load_w),
                  x_of(plot, fmin(end_s, plot->to_s)), y_of(plot, end_s < plot->to_s ? idle_w : load_w));
    }
    text_addf(out, "H%.1f\"/>", WIDTH);
    add_dots(data, CALIBRATION_SAMPLES, plot, zero_ns, out);
    add_dots(data, CALIBRATION_POWER, plot, zero_ns, out);
    end_plot(out, plot, 1, "s");
}

/* All long loads' begins, or ends, upon each other. */
static void add_edge(const struct calibration_data *data, const struct plot *plot, bool rises, double idle_w,
                     double load_w, struct text *out)
{
    double before_w = rises ? idle_w : load_w, after_w = rises ? load_w : idle_w;
    begin_plot(out, plot, rises ? "As a load begins, all upon each other" : "As a load ends, all upon each other");
    text_addf(out, "<path class=c d=\"M0 %.1fH%.1fV%.1fH%.0f\"/>", y_of(plot, before_w), x_of(plot, 0),
              y_of(plot, after_w), WIDTH);
    for (size_t i = 0; i < data->load_count; i++) {
        const struct load_interval *load = &data->loads[i];
        if (load->end_ns - load->begin_ns < NS_PER_S)
            continue;
        add_dots(data, CALIBRATION_SAMPLES, plot, rises ? load->begin_ns : load->end_ns, out);
        add_dots(data, CALIBRATION_POWER, plot, rises ? load->begin_ns : load->end_ns, out);
    }
    end_plot(out, plot, 1000, "ms");
}

static void find_range(const struct calibration_data *data, struct plot *plot)
{
    plot->least_w = INFINITY;
    plot->most_w = -INFINITY;
    for (int series = CALIBRATION_SAMPLES; series <= CALIBRATION_POWER; series++)
        for (size_t i = 0; i < readings_of(data, series)->count; i++) {
            plot->least_w = fmin(plot->least_w, readings_of(data, series)->items[i].value);
            plot->most_w = fmax(plot->most_w, readings_of(data, series)->items[i].value);
        }
    double room_w = ROOM * (plot->most_w - plot->least_w);
    plot->least_w -= room_w;
    plot->most_w += room_w;
}

void calibrate_page(const struct calibration_data *data, const struct calibration *found, const char *table,
                    struct text *out)
{
    const struct sensor_learnt *shown = &found->sensors[CALIBRATION_POWER];
    if (found->sensors[CALIBRATION_SAMPLES].load_w.known)
        shown = &found->sensors[CALIBRATION_SAMPLES];
    const struct html_page page = {.title = "How the sensors of this GPU behave", .style = style};
    html_begin(out, &page);
    html_set_out(out, table);
    struct plot plot = {-1, 12, 0, 0};
    find_range(data, &plot);
    if (shown->idle_w.known && shown->load_w.known && plot.most_w > plot.least_w && data->load_count > 0) {
        double idle_w = shown->idle_w.value, load_w = shown->load_w.value;
        html_legend(out, "",
                    (struct html_mark[]){{"c", "commanded, at the powers that were learnt"},
                                         {"samples", "samples"},
                                         {"power", "power, at each new value"},
                                         {0}});
        add_course(data, &plot, idle_w, load_w, out);
        plot.from_s = -0.05;
        plot.to_s = 0.25;
        add_edge(data, &plot, true, idle_w, load_w, out);
        add_edge(data, &plot, false, idle_w, load_w, out);
    } else {
        html_line(out, NULL, "There is no picture: the powers of rest and load are not known.");
    }
    html_end(out, &page);
}
