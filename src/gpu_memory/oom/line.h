/* line: recognises lines that report exhausted GPU memory, and the framework that printed them. */
#ifndef TARE_GPU_MEMORY_OOM_LINE_H
#define TARE_GPU_MEMORY_OOM_LINE_H

#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/oom.h"
#include <stddef.h>

const char *oom_framework_name(enum oom_framework framework); /* "PyTorch", "CUDA" */

/* The first phrase of the line (without its newline; any bytes, any length). Not counted: source
 * code that a traceback quotes (the phrase alone between quotes), what the allocator itself calls
 * no failure, and memory of the host. Costs a search for a few words where the line holds none of
 * them. */
enum oom_framework oom_line_framework(const char *line, size_t length);

/* The first place of the phrase from byte from on that is no quotation (the phrase alone between
 * quotes, as in source code); SIZE_MAX: there is none. */
size_t phrase_find(const char *bytes, size_t length, size_t from, const char *phrase,
                   size_t phrase_length);

/* Whether the phrase from begin to end is a quotation: alone between quotes, part of a longer name,
 * source code that raises it, or text that is cut where a number would follow. */
bool phrase_is_quoted(const char *bytes, size_t length, size_t begin, size_t end);

/* Whether the phrase at bytes from begin to end is advice ("Tip: if you see ..."), not a failure. A
 * message that says what was requested is a failure whatever comes before it. Blanks may be there
 * or not. */
bool phrase_is_advice(const char *bytes, size_t length, size_t begin, size_t end);

/* Whether a line is text for people: a heading, a row of a table, sentences. A line that has
 * the size requested, or names an error, is not. */
bool phrase_is_prose(const char *raw, size_t length);

/* Whether any of the words is in it. */
bool phrase_may_hold(const char *bytes, size_t length, const char *const *words, size_t count);

/* Who printed a line, where launchers of several ranks say so in front of it. */

/* "[rank3]: ", "[default0]:" (torchrun), "[1,3]<stderr>:" (mpirun), "3: " (srun -l), "(Worker
 * pid=7)" (Ray): its length, 0: there is none. out, of size bytes: "rank3", "1,3", "3", "Worker
 * pid=7"; "" without one. */
size_t source_read(const char *line, size_t length, char *out, size_t size);

/* Facts of the training in a line that is not the message. */

int64_t line_epoch(const char *raw, size_t length); /* the last that it names; -1: none */
int64_t line_batch(const char *raw, size_t length); /* the batch size that it names; 0: none */
enum oom_setting line_expandable(const char *raw, size_t length);
enum oom_framework line_program(const char *raw, size_t length); /* that prints it */
enum oom_origin line_origin(const char *raw, size_t length);

#endif
