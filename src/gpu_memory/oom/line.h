/* line: does one line of a log show that a GPU's memory ran out? Pure: bytes in, no memory taken. */
#ifndef TARE_GPU_MEMORY_OOM_LINE_H
#define TARE_GPU_MEMORY_OOM_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum oom_framework {
    OOM_NONE, /* it does not */
    OOM_PYTORCH,
    OOM_TENSORFLOW,
    OOM_XLA,  /* JAX, or TensorFlow's newer compiler: they share the allocator and its messages */
    OOM_CUPY,
    OOM_CUDA, /* the driver's or a library's own error: it says nothing of sizes */
    OOM_FRAMEWORKS
};

const char *oom_framework_name(enum oom_framework framework); /* "PyTorch", "CUDA" */

/* The phrases by which messages are known, as they stand in a line. */
struct oom_phrase {
    const char *text;
    enum oom_framework framework;
};
extern const struct oom_phrase oom_phrases[]; /* ends with NULL */

/* The first phrase of the line (without its newline; any bytes, any length). Not counted: source code that a traceback
 * quotes (the phrase alone between quotes), what the allocator itself calls no failure, and memory of the host. Costs a
 * search for a few words where the line holds none of them. */
enum oom_framework oom_line_framework(const char *line, size_t length);

#endif
