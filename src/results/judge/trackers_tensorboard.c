/* TensorBoard's event files: FOLDER/RUN/EXPERIMENT/events.out.tfevents.0.tare. A file is a chain of records, each a length
 * and the bytes of one Event, both with a CRC-32C (RecordWriter of TensorFlow). Events are messages of protocol
 * buffers (event.proto, summary.proto, the hparams plugin's plugin_data.proto), whose wire format is
 * https://protobuf.dev/programming-guides/encoding. */
#include "results/judge/export.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tare_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* TensorBoard knows its files by "tfevents"; always the same, so that a later export replaces it. */
#define FILE_NAME "events.out.tfevents.0." TARE_NAME

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Fields of the messages. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1 };
enum { PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { HPARAMS_VERSION = 1, HPARAMS_START = 3, HPARAMS_END = 4 };
enum { START_HPARAMS = 1, START_TIME = 5 };
enum { END_STATUS = 1, END_TIME = 2 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
enum { STRUCT_NULL = 1, STRUCT_NUMBER = 2, STRUCT_STRING = 3, STRUCT_BOOL = 4 }; /* google.protobuf.Value */
enum { STATUS_SUCCESS = 1, STATUS_FAILURE = 2 };                                 /* Status of api.proto; 0: unknown */

static void put_varint(struct text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        text_add_char(out, (char)(0x80 | (value & 0x7f)));
    text_add_char(out, (char)value);
}

static void put_little(struct text *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, value >>= 8)
        text_add_char(out, (char)(value & 0xff));
}

static void put_key(struct text *out, unsigned field, enum wire wire)
{
    put_varint(out, (uint64_t)field << 3 | wire);
}

static void put_number(struct text *out, unsigned field, uint64_t value)
{
    put_key(out, field, WIRE_VARINT);
    put_varint(out, value);
}

static void put_double(struct text *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, WIRE_64);
    put_little(out, bits, sizeof bits);
}

static void put_float(struct text *out, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, WIRE_32);
    put_little(out, bits, sizeof bits);
}

static void put_bytes(struct text *out, unsigned field, const char *bytes, size_t count)
{
    put_key(out, field, WIRE_BYTES);
    put_varint(out, count);
    text_add_bytes(out, bytes, count);
}

static void put_string(struct text *out, unsigned field, const char *string)
{
    AUTO_FREE char *line = utf8_line(string); /* a string of protocol buffers is UTF-8 */
    put_bytes(out, field, line, strlen(line));
}

static void put_message(struct text *out, unsigned field, const struct text *message)
{
    put_bytes(out, field, text_get(message), message->length);
}

/* CRC-32C (RFC 3720, appendix B.4), reflected, bit by bit: some kilobytes a file. */
static uint32_t crc32c(const char *bytes, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    return ~crc;
}

/* As RecordWriter masks it: a CRC of data that has CRCs in it is a weak one. */
static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static void put_record(struct text *out, const struct text *event)
{
    AUTO_TEXT struct text length = {0};
    put_little(&length, event->length, 8);
    text_add_bytes(out, text_get(&length), length.length);
    put_little(out, masked(crc32c(text_get(&length), length.length)), 4);
    text_add_bytes(out, text_get(event), event->length);
    put_little(out, masked(crc32c(text_get(event), event->length)), 4);
}

static double seconds(int64_t time_ns)
{
    return (double)time_ns / (double)NS_PER_S;
}

/* One value of a summary, as an event of its own. */
static void put_event(struct text *out, int64_t time_ns, int64_t step, const struct text *value)
{
    AUTO_TEXT struct text event = {0}, summary = {0};
    put_message(&summary, SUMMARY_VALUE, value);
    put_double(&event, EVENT_WALL_TIME, seconds(time_ns));
    put_number(&event, EVENT_STEP, (uint64_t)step);
    put_message(&event, EVENT_SUMMARY, &summary);
    put_record(out, &event);
}

static void put_scalar(struct text *out, int64_t time_ns, int64_t step, const char *group, const char *name,
                       double value)
{
    AUTO_TEXT struct text message = {0};
    AUTO_FREE char *tag = mem_printf("%s/%s", group, name);
    put_string(&message, VALUE_TAG, tag);
    put_float(&message, VALUE_SIMPLE, (float)value);
    put_event(out, time_ns, step, &message);
}

/* What the hparams plugin shows: content is one field of its HParamsPluginData. */
static void put_hparams(struct text *out, int64_t time_ns, const char *tag, unsigned field, const struct text *content)
{
    AUTO_TEXT struct text data = {0}, plugin = {0}, metadata = {0}, value = {0};
    put_number(&data, HPARAMS_VERSION, 0);
    put_message(&data, field, content);
    put_string(&plugin, PLUGIN_NAME, "hparams");
    put_message(&plugin, PLUGIN_CONTENT, &data);
    put_message(&metadata, METADATA_PLUGIN, &plugin);
    put_string(&value, VALUE_TAG, tag);
    put_message(&value, VALUE_METADATA, &metadata);
    put_event(out, time_ns, 0, &value);
}

/* The plugin's pages take no number that is not finite. */
static void put_param(struct text *out, const struct dataset_param *param)
{
    AUTO_TEXT struct text value = {0}, entry = {0};
    AUTO_FREE char *words = value_format(&param->value);
    if (param->value.kind == VALUE_INT)
        put_double(&value, STRUCT_NUMBER, (double)param->value.integer);
    else if (param->value.kind == VALUE_FLOAT && isfinite(param->value.real))
        put_double(&value, STRUCT_NUMBER, param->value.real);
    else if (param->value.kind == VALUE_BOOL)
        put_number(&value, STRUCT_BOOL, param->value.truth);
    else if (param->value.kind == VALUE_NULL)
        put_number(&value, STRUCT_NULL, 0);
    else
        put_string(&value, STRUCT_STRING, words);
    put_string(&entry, MAP_KEY, param->name);
    put_message(&entry, MAP_VALUE, &value);
    put_message(out, START_HPARAMS, &entry);
}

static void put_start(struct text *out, const struct tracker_item *item)
{
    const struct dataset_experiment *experiment = item->experiment;
    AUTO_TEXT struct text start = {0};
    const struct dataset_param facts[] = {
        {(char *)"repository", {.kind = VALUE_TEXT, .text = experiment->repo}},
        {(char *)"model", {.kind = VALUE_TEXT, .text = experiment->model}},
        {(char *)"verdict", {.kind = VALUE_TEXT, .text = (char *)verdict_name(experiment->verdict)}},
    };
    for (size_t i = 0; i < experiment->param_count; i++)
        put_param(&start, &experiment->params[i]);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!dataset_param(experiment, facts[i].name))
            put_param(&start, &facts[i]);
    put_double(&start, START_TIME, seconds(item->start_ns));
    put_hparams(out, item->start_ns, "_hparams_/session_start_info", HPARAMS_START, &start);
}

struct scalars {
    struct text *out;
    int64_t end_ns;
    const char *metric;
};

static bool put_figure(void *context, const char *name, double value)
{
    const struct scalars *scalars = context;
    put_scalar(scalars->out, scalars->end_ns, 0, TARE_NAME, name, value);
    return true;
}

static bool put_point(void *context, int64_t step, int64_t time_ns, double value)
{
    const struct scalars *scalars = context;
    put_scalar(scalars->out, time_ns, step, "metric", scalars->metric, value);
    return true;
}

static void put_file(struct text *out, const struct tracker_item *item)
{
    const struct dataset_experiment *experiment = item->experiment;
    AUTO_TEXT struct text version = {0}, end = {0};
    put_double(&version, EVENT_WALL_TIME, seconds(item->start_ns));
    put_string(&version, EVENT_FILE_VERSION, "brain.Event:2");
    put_record(out, &version);
    put_start(out, item);
    struct scalars scalars = {out, item->end_ns, NULL};
    for (size_t i = 0; i < experiment->metric_count; i++) {
        scalars.metric = experiment->metrics[i].name;
        tracker_curve(item, i, put_point, &scalars);
    }
    tracker_figures(experiment, put_figure, &scalars);
    put_number(&end, END_STATUS, !experiment->has_success ? 0 : experiment->success ? STATUS_SUCCESS : STATUS_FAILURE);
    put_double(&end, END_TIME, seconds(item->end_ns));
    put_hparams(out, item->end_ns, "_hparams_/session_end_info", HPARAMS_END, &end);
}

static bool write_item(int dir, const struct tracker_item *item, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    AUTO_CLOSE int run = fs_make_dir_at(dir, item->run->name, 0777, err);
    AUTO_CLOSE int experiment = run < 0 ? -1 : fs_make_dir_at(run, item->id, 0777, err);
    if (experiment < 0)
        return false;
    put_file(&text, item);
    return fs_write_unsynced(experiment, FILE_NAME, text_get(&text), text.length, err);
}

bool trackers_tensorboard(const struct dataset *dataset, const char *folder, bool force, size_t *written,
                          struct err *err)
{
    return trackers_write(dataset, folder, "tensorboard", force, write_item, written, err);
}
