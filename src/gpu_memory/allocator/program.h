/* program: what a training asked of the allocator, taken out of the trace of one device: requests
 * and frees, without where they came to lie. It is the same under every setting, so it can be
 * replayed under others. */
#ifndef TARE_GPU_MEMORY_ALLOCATOR_PROGRAM_H
#define TARE_GPU_MEMORY_ALLOCATOR_PROGRAM_H

#include "gpu_memory/allocator/model.h"
#include "gpu_memory/allocator/snapshot.h"

enum op_kind {
    OP_ALLOC,
    OP_FREE,       /* requested and completed at once */
    OP_FREE_LATER, /* another stream may still use it */
    OP_COMPLETE,   /* of an OP_FREE_LATER */
    OP_OOM,        /* a request that failed when it was recorded; the size is rounded */
    OP_EMPTY_CACHE /* torch.cuda.empty_cache(), inferred */
};

struct op {
    uint64_t size; /* ALLOC: requested, OOM: rounded */
    uint32_t allocation;
    uint32_t event; /* its place in the trace */
    uint16_t stream, pool;
    uint8_t kind;
};

/* One allocation's life. */
struct allocation {
    uint64_t size;       /* requested */
    uint32_t born, died; /* events; UINT32_MAX: before the record began, or not before its end */
    uint32_t stack;
    uint16_t stream;
    bool awaited; /* when the record began it was freed already, but not completed */
};

/* A segment that was there when the record began, and what lay in it. */
struct early_piece {
    struct model_piece piece;
    uint32_t allocation; /* UINT32_MAX: free */
};
struct early_segment {
    uint64_t addr;
    uint64_t base; /* of an expandable one: where its address space begins; else 0 */
    size_t first_piece, piece_count;
    uint16_t stream, pool;
    bool small;
};

struct program {
    struct op *ops;
    size_t op_count;
    struct allocation *allocations;
    size_t allocation_count;
    struct early_segment *early;
    size_t early_count;
    struct early_piece *pieces;
    size_t piece_count;
    size_t pool_count, stream_count;
    size_t lost; /* allocations from before the record for which no segment is known */
    uint64_t peak_reserved_bytes; /* by the record's segment events */
    uint64_t early_reserved_bytes;
};

/* Of one device; out must be freed by program_fini. The error: a trace with more events than can be
 * numbered. */
bool program_build(const struct snapshot *snapshot, size_t device, struct program *out,
                   struct err *err);
void program_fini(struct program *program);

/* Puts calls of empty_cache before the ops at these places (rising). */
void program_add_empty_caches(struct program *program, const size_t *places, size_t count);

/* A new model with what was there before. options: all but the address space, the streams and the
 * pools, which the program tells. total_bytes: of the device; 0: not known. blocks: the block of
 * each allocation that lay there, MODEL_NONE of the others; the caller frees them. Where the
 * settings know no expandable segments, what was mapped counts as ordinary ones. */
struct model *program_model(const struct program *program, struct model_options options,
                            uint64_t total_bytes, uint32_t **blocks);

/* Does one op, of whose allocation block is the block. False: it was refused, or frees what is not
 * there. */
bool program_run_op(struct model *model, const struct op *op, uint32_t *block);

/* Builds the early segments: what the record presumes but does not show. */
struct addr_map;
void program_find_early(const struct snapshot *snapshot, size_t device, struct program *program,
                        const struct addr_map *live);

#endif
