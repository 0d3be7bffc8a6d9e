/* place: where in the program an allocation was made, and in which part of a training, by its
 * stack. Frames of the recorder, the allocator and the interpreter are passed over. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_PLACE_H
#define TARE_GPU_MEMORY_ALLOCATOR_PLACE_H

#include "gpu_memory/allocator/snapshot.h"

enum place_trait {
    PLACE_BACKWARD = 1,    /* the autograd engine ran a node of the graph */
    PLACE_OPTIMIZER = 2,   /* in an optimizer's step */
    PLACE_ZERO_GRAD = 4,   /* in zero_grad */
    PLACE_MODULE = 8,      /* in a call of an nn.Module */
    PLACE_SETUP = 16,      /* a module was moved, converted or loaded */
    PLACE_INIT = 32,       /* in a constructor */
    PLACE_COPY = 64,       /* copied from the host or converted, or made of Python values */
    PLACE_CHECKPOINT = 128 /* in torch.utils.checkpoint */
};

/* The innermost frame in a Python file of the user's own, and the library's function that was
 * called there (NULL: none). Without such a file: of another library than PyTorch, of PyTorch's
 * Python, of compiled code. frame NULL: no stack was recorded. */
struct place {
    const struct snapshot_frame *frame, *via;
    /* The node of the backward pass ("BmmBackward0"), where no frame is Python's: not
     * terminated. NULL: no node. */
    const char *node;
    size_t node_length;
    unsigned traits;
};

struct place place_of(const struct snapshot *snapshot, uint32_t stack);

/* The same of many stacks: each frame is classified once. */
struct place_frames;
struct place_frames *place_frames_new(const struct snapshot *snapshot);
struct place place_find(const struct place_frames *frames, uint32_t stack);
void place_frames_free(struct place_frames *frames);

/* Compiled code that every allocation comes through. */
bool place_is_machinery(const struct snapshot_frame *frame);

/* The same text for all frames of a package: "torch/nn/modules/linear.py" of
 * "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py"; others as they are. */
const char *place_package_path(const char *file);

#endif
