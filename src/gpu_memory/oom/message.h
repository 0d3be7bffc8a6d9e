/* message: what the words of one message say. Words stand without blanks ("4.15GiB", "ofwhich3.84GiBisfree"), so that it
 * does not matter where a line was broken. Private to oom/. */
#ifndef TARE_GPU_MEMORY_OOM_MESSAGE_H
#define TARE_GPU_MEMORY_OOM_MESSAGE_H

#include "gpu_memory/oom/oom.h"

/* Takes in the figures that stand in squeezed from *from on, and moves *from behind the last of them: what follows may
 * not be complete yet. Gives how many were new. */
size_t message_scan(const char *squeezed, size_t length, size_t *from, struct oom *out);

/* What stands in front of the phrase in its line may name the GPU, and nothing else is believed of it. */
void message_front(const char *squeezed, size_t length, struct oom *out);

/* The whole of it: GPU number, shape. False: it is no failure after all, or of the host's memory. */
bool message_end(const char *squeezed, size_t length, struct oom *out);

#endif
