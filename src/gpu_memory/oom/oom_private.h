/* oom_private: what the files of oom/ share. First what the words of one message say. Words stand
 * without blanks ("4.15GiB", "ofwhich3.84GiBisfree"), so that it does not matter where a line was
 * broken. */
#ifndef TARE_GPU_MEMORY_OOM_OOM_PRIVATE_H
#define TARE_GPU_MEMORY_OOM_OOM_PRIVATE_H

#include "gpu_memory/oom/cause.h"
#include "gpu_memory/oom/oom.h"

#include <stddef.h>

/* Takes in the figures that stand in squeezed from *from on, and moves *from behind the last of
 * them: what follows may not be complete yet. Gives how many were new. */
size_t message_scan(const char *squeezed, size_t length, size_t *from, struct oom *out);

/* What is before the phrase in its line may name the GPU, and nothing else is believed of it. */
void message_front(const char *squeezed, size_t length, struct oom *out);

/* The whole of it: GPU number, shape. False: it is no failure after all, or of the host's
 * memory. */
bool message_end(const char *squeezed, size_t length, struct oom *out);

/* The first place of the phrase from byte from on that is no quotation (the phrase alone between
 * quotes, as in source code); SIZE_MAX: there is none. */
size_t phrase_find(const char *bytes, size_t length, size_t from, const char *phrase,
                   size_t phrase_length);

/* Whether the phrase at bytes from begin to end is advice ("Tip: if you see ..."), not a failure. A
 * message that says what was requested is a failure whatever comes before it. Blanks may be there
 * or not. */
bool phrase_is_advice(const char *bytes, size_t length, size_t begin, size_t end);

/* Whether any of the words is in it. */
bool phrase_may_hold(const char *bytes, size_t length, const char *const *words, size_t count);

/* What would help, by cause. */

/* Fills the remedies of a diagnosis whose cause and figures stand. */
void remedies_fill(const struct oom *message, struct oom_diagnosis *out);

/* Who printed a line, where launchers of several ranks say so in front of it. */

/* "[rank3]: ", "[default0]:" (torchrun), "[1,3]<stderr>:" (mpirun), "3: " (srun -l), "(Worker
 * pid=7)" (Ray): its length, 0: there is none. out, of size bytes: "rank3", "1,3", "3", "Worker
 * pid=7"; "" without one. */
size_t source_read(const char *line, size_t length, char *out, size_t size);

/* Facts of the training in a line that is not the message. */

int64_t line_epoch(const char *raw, size_t length); /* the last that it names; -1: none */
int64_t line_batch(const char *raw, size_t length); /* the batch size that it names; 0: none */
enum oom_setting line_expandable(const char *raw, size_t length);
enum oom_origin line_origin(const char *raw, size_t length);

#endif
