/* source: who printed a line, where launchers of several ranks say so in front of it. Private to oom/. */
#ifndef TARE_GPU_MEMORY_OOM_SOURCE_H
#define TARE_GPU_MEMORY_OOM_SOURCE_H

#include <stddef.h>

/* "[rank3]: ", "[default0]:" (torchrun), "[1,3]<stderr>:" (mpirun), "3: " (srun -l), "(Worker pid=7)" (Ray): its length, 0:
 * there is none. out, of size bytes: "rank3", "1,3", "3", "Worker pid=7"; "" without one. */
size_t source_read(const char *line, size_t length, char *out, size_t size);

#endif
