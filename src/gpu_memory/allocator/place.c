#include "gpu_memory/allocator/place.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A folder or file of PyTorch's Python package, wherever it was built. */
static bool is_of_torch(const char *file)
{
    static const char *const parts[] = {
        "_",    "amp/", "autograd/", "cuda/",  "distributed/", "functional.py", "fx/",
        "jit/", "nn/",  "nested/",   "optim/", "profiler/",    "utils/",        NULL};
    for (const char *at = file; (at = strstr(at, "/torch/"));) {
        at += strlen("/torch/");
        for (size_t i = 0; parts[i]; i++)
            if (strncmp(at, parts[i], strlen(parts[i])) == 0)
                return true;
    }
    return strstr(file, "/torchinductor_") != NULL; /* what torch.compile wrote */
}

/* Compiled code that every allocation comes through: the recorder, the allocator, the dispatcher,
 * the interpreter, the start of a thread. */
static const char *const machinery_fronts[] = {
    "c10::",
    "at::detail::",
    "at::_ops::",
    "at::cuda::",
    "at::native::empty",
    "at::(anonymous namespace)::",
    "at::Tensor c10::",
    "at::TensorBase at::detail::",
    "at::TensorIteratorBase::",
    "torch::autograd::VariableType::",
    "torch::autograd::Engine::",
    "torch::autograd::Node::",
    "torch::autograd::python::PythonEngine::",
    "torch::unwind",
    "torch::CapturedTraceback",
    "void c10::",
    "std::",
    "_Py",
    "Py",
    "_start",
    "__libc_start",
    "__libc_init",
    "__clone",
    "clone3",
    "start_thread",
    "pthread_",
    "execute_native_thread_routine",
    "pymain_",
    "pyrun_",
    "run_mod",
    "run_eval_code",
    "cfunction_",
    "method_vectorcall",
    "vectorcall_",
    "slot_",
    "object_vacall",
    "__xmknod",
};
static const char *const machinery_parts[] = {"CachingAllocator", "gather_with_cpp"};

static bool is_machinery(const char *function)
{
    EACH_OF (front, machinery_fronts)
        if (strncmp(function, *front, strlen(*front)) == 0)
            return true;
    EACH_OF (part, machinery_parts)
        if (strstr(function, *part))
            return true;
    return *function == '\0' || strcmp(function, "??") == 0;
}

enum frame_kind {
    FRAME_ANY,
    FRAME_COMPILED,
    FRAME_STANDARD,
    FRAME_TORCH,
    FRAME_LIBRARY,
    FRAME_USER
};

struct frame_class {
    uint8_t kind;   /* enum frame_kind */
    uint8_t traits; /* enum place_trait */
    bool is_node;   /* its function runs a node of the backward pass */
    bool is_engine; /* the autograd engine, which ran the node */
};

/* "train.py", and what Python itself calls "<string>" or "<ipython-input-3>"; all else is of
 * compiled code. */
static bool is_python(const char *file)
{
    return *file == '<' || text_ends_with(file, ".py");
}

static enum frame_kind frame_kind_of(const struct snapshot_frame *frame)
{
    if (!is_python(frame->file))
        return is_machinery(frame->function) ? FRAME_ANY : FRAME_COMPILED;
    if (is_of_torch(frame->file) || strstr(frame->file, "-packages/torch/"))
        return FRAME_TORCH;
    if (strstr(frame->file, "/site-packages/") || strstr(frame->file, "/dist-packages/"))
        return FRAME_LIBRARY;
    if (strstr(frame->file, "/lib/python3") || strncmp(frame->file, "<frozen ", 8) == 0)
        return FRAME_STANDARD;
    /* torch.fx writes such */
    return strncmp(frame->file, "<eval_with_key>", 15) == 0 ? FRAME_TORCH : FRAME_USER;
}

bool place_is_machinery(const struct snapshot_frame *frame)
{
    return frame_kind_of(frame) == FRAME_ANY;
}

/* A row counts where both parts are in the frame; NULL: whatever it is. */
static const struct {
    const char *file, *function;
    uint8_t trait;
} trait_rows[] = {
    {NULL, "Engine::evaluate_function", PLACE_BACKWARD},
    {"/torch/autograd/", "_engine_run_backward", PLACE_BACKWARD},
    {"/torch/utils/checkpoint.py", "unpack_hook", PLACE_BACKWARD | PLACE_CHECKPOINT},
    {"/torch/utils/checkpoint.py", "recompute_fn", PLACE_BACKWARD | PLACE_CHECKPOINT},
    {"/torch/utils/checkpoint.py", NULL, PLACE_CHECKPOINT},
    {NULL, "zero_grad", PLACE_ZERO_GRAD},
    {"/torch/optim/", "step", PLACE_OPTIMIZER},
    {"/torch/optim/", "wrapper", PLACE_OPTIMIZER},
    {"/optim/", "step", PLACE_OPTIMIZER},
    {"/optimizers/", "step", PLACE_OPTIMIZER},
    {"/torch/nn/modules/module.py", "_call_impl", PLACE_MODULE},
    {"/torch/nn/modules/module.py", "_apply", PLACE_SETUP},
    {"/torch/nn/modules/module.py", "convert", PLACE_SETUP},
    {"/torch/nn/modules/module.py", "load_state_dict", PLACE_SETUP},
    {"/torch/nn/modules/", "__init__", PLACE_SETUP},
    {"/torch/nn/modules/", "reset_parameters", PLACE_SETUP},
    {NULL, "from_pretrained", PLACE_SETUP},
    {".py", "__init__", PLACE_INIT},
    {NULL, "_to_copy", PLACE_COPY},
    {NULL, "THPVariable_cuda", PLACE_COPY},
    {NULL, "tensor_ctor", PLACE_COPY},
};

static struct frame_class classify_frame(const struct snapshot_frame *frame)
{
    struct frame_class class = {.kind = (uint8_t)frame_kind_of(frame)};
    EACH_OF (row, trait_rows)
        if ((!row->file || strstr(frame->file, row->file)) &&
            (!row->function || strstr(frame->function, row->function)))
            class.traits |= row->trait;
    class.is_engine = !is_python(frame->file) && (class.traits & PLACE_BACKWARD);
    class.is_node = class.is_engine || (strncmp(frame->function, "torch::autograd::", 17) == 0 &&
                                        strstr(frame->function, "::apply("));
    return class;
}

/* "BmmBackward0" of "torch::autograd::generated::BmmBackward0::apply(...)"; what the engine does
 * itself is its own. */
static void name_node(struct place *place)
{
    static const char engine[] = "autograd engine";
    const char *function = place->frame->function, *end = strstr(function, "::apply(");
    place->node = engine;
    place->node_length = sizeof engine - 1;
    if (!end)
        return;
    place->node = end;
    while (place->node > function && place->node[-1] != ':')
        place->node--;
    place->node_length = (size_t)(end - place->node);
}

struct place_frames {
    const struct snapshot *snapshot;
    struct frame_class *classes; /* by the place in snapshot->frames; NULL: not classified yet */
};

struct place place_find(const struct place_frames *frames, uint32_t stack)
{
    const struct snapshot *snapshot = frames->snapshot;
    struct place place = {0};
    const struct snapshot_frame *node = NULL;
    enum frame_kind best = FRAME_ANY;
    bool ran = false;
    if (stack == 0 || stack >= snapshot->stack_count)
        return place;
    for (size_t i = 0; i < snapshot->stacks[stack].frame_count; i++) {
        const struct snapshot_frame *frame = snapshot_frame(snapshot, stack, i);
        struct frame_class class =
            frames->classes ? frames->classes[frame - snapshot->frames] : classify_frame(frame);
        place.traits |= class.traits;
        if (class.is_node && !ran && !(class.is_engine && node))
            node = frame;
        ran = ran || class.is_engine;
        if (best == FRAME_USER || (place.frame && class.kind <= best))
            continue;
        if (!place.via && best >= FRAME_TORCH)
            place.via = place.frame;
        place.frame = frame;
        best = (enum frame_kind) class.kind;
    }
    if (best <= FRAME_COMPILED && ran && node) {
        place.frame = node;
        name_node(&place);
    }
    return place;
}

struct place place_of(const struct snapshot *snapshot, uint32_t stack)
{
    return place_find(&(struct place_frames){.snapshot = snapshot}, stack);
}

struct place_frames *place_frames_new(const struct snapshot *snapshot)
{
    struct place_frames *frames = mem_alloc(sizeof *frames);
    frames->snapshot = snapshot;
    frames->classes = mem_array(snapshot->frame_count, sizeof *frames->classes);
    for (size_t i = 0; i < snapshot->frame_count; i++)
        frames->classes[i] = classify_frame(&snapshot->frames[i]);
    return frames;
}

void place_frames_free(struct place_frames *frames)
{
    free(frames->classes);
    free(frames);
}

const char *place_package_path(const char *file)
{
    static const char *const fronts[] = {"/site-packages/", "/dist-packages/", NULL};
    for (size_t i = 0; fronts[i]; i++) {
        const char *at = strstr(file, fronts[i]);
        if (at)
            return at + strlen(fronts[i]);
    }
    const char *at = strstr(file, "/torch/");
    return at && is_of_torch(file) ? at + 1 : file;
}
