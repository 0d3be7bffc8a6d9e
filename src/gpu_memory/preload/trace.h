/* trace: the events, appended to a file as they happen. */
#ifndef TARE_GPU_MEMORY_PRELOAD_TRACE_H
#define TARE_GPU_MEMORY_PRELOAD_TRACE_H

#include "base/gpu_ledger.h"

void trace_event(enum gpu_ledger_event_kind kind, int gpu, int how, uint64_t address, uint64_t bytes);

#endif
