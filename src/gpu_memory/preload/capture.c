/* Whether any stream was ever captured: until then none needs to be asked. */
#include "gpu_memory/preload/entry.h"
#include "gpu_memory/preload/process_state.h"
#include "gpu_memory/preload/real.h"

static void captures(void)
{
    struct process_state *state = process_state_get();
    if (state)
        atomic_store(&state->captures, true);
}

#define BEGIN_CAPTURE(name, parameters, arguments)                                                                     \
    cu_result name parameters                                                                                          \
    {                                                                                                                  \
        __typeof__(&name) real = REAL(name);                                                                           \
        captures();                                                                                                    \
        return real ? real arguments : CUDA_ERROR_NOT_FOUND;                                                           \
    }

BEGIN_CAPTURE(cuStreamBeginCapture, (cu_stream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (cu_stream stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (cu_stream stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (cu_stream stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph,
              (cu_stream stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),
              (stream, graph, nodes, edges, count, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz,
              (cu_stream stream, void *graph, const void *nodes, const void *edges, size_t count, int mode),
              (stream, graph, nodes, edges, count, mode))
