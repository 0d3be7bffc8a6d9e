#!/usr/bin/env python3
"""Small memory snapshots made by hand, as PyTorch writes them, and a plain replay of the allocator's common path to make larger ones.

usage: traces.py NAME FILE        NAME: split, emptied, cap, workspace, oom, expandable, streams, stacks, places, capped,
                                  leak, steady, wide, proto2, early, kinds, kinds_late, kinds_leak, kinds_steady
       traces.py big FILE EVENTS  a trace of that many events
       traces.py stacked FILE EVENTS FRAMES PROTOCOL [unlike]
                                  the same with a stack of so many frames for each event, as stacks="all" records them: a list of
                                  its own for each event, of dictionaries that all of them share. PROTOCOL: 4, as Python's pickler
                                  writes it, or 2, as PyTorch's C++ writer does. unlike: no two stacks are the same
       traces.py hostile FILE     some 400 kB: a stack of one frame with long names, named over and over
"""
import pickle
import struct
import sys

MIB = 1 << 20
A, B, C = 0x7F0000000000, 0x7EFFFE000000, 0x7EFFFC000000
SETTINGS = {
    "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False,
    "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)},
}


class Trace:
    def __init__(self, **settings):
        self.events, self.segments, self.marks = [], [], []
        self.settings = {**SETTINGS, **settings}
        self.time = 1_700_000_000_000_000

    def event(self, action, addr, size, stream=0, frames=None):
        self.time += 10
        event = {"action": action, "device_free" if action == "oom" else "addr": addr, "size": size, "stream": stream,
                 "time_us": self.time, "compile_context": "N/A", "user_metadata": ""}
        if frames is not None:
            event["frames"] = frames
        self.events.append(event)

    def alloc(self, addr, size, stream=0, frames=None):
        self.event("alloc", addr, size, stream, frames)

    def free(self, addr, size, stream=0):
        self.event("free_requested", addr, size, stream)
        self.event("free_completed", addr, size, stream)

    def mark(self, name):
        self.time += 10
        self.marks.append({"stage": "START", "name": name, "device": 0, "time_us": self.time})

    def segment(self, addr, blocks, stream=0, small=False, expandable=False):
        """blocks: (size, requested, state letter a, p or i)"""
        made, at = [], addr
        for size, requested, state in blocks:
            names = {"a": "active_allocated", "p": "active_pending_free", "i": "inactive"}
            made.append({"address": at, "size": size, "requested_size": requested, "state": names[state], "frames": []})
            at += size
        self.segments.append({
            "device": 0, "address": addr, "total_size": at - addr,
            "allocated_size": sum(b[0] for b in blocks if b[2] == "a"), "active_size": sum(b[0] for b in blocks if b[2] != "i"),
            "requested_size": sum(b[1] for b in blocks if b[2] != "i"), "stream": stream,
            "segment_type": "small" if small else "large", "segment_pool_id": (0, 0), "is_expandable": expandable, "frames": [],
            "blocks": made})

    def root(self):
        return {"segments": sorted(self.segments, key=lambda s: s["address"]), "device_traces": [self.events],
                "allocator_settings": self.settings, "external_annotations": self.marks}


def split():
    """Best fit, splitting in both pools, a rest that is too small to be split off."""
    t = Trace()
    t.event("segment_alloc", A, 2 * MIB)
    t.alloc(A, 614400)
    t.alloc(A + 614400, 100)
    t.event("segment_alloc", B, 20 * MIB)
    t.alloc(B, 3 * MIB)
    t.alloc(B + 3 * MIB, 12 * MIB)
    t.free(B, 3 * MIB)
    t.alloc(B, 2621440)  # of the free 3 MiB and 5 MiB the smaller one; half a MiB is not split off
    t.free(A, 614400)
    t.alloc(A + 614912, 614401)  # one byte too large for the free block in front
    t.segment(A, [(614400, 614400, "i"), (512, 100, "a"), (614912, 614401, "a"), (867328, 0, "i")], small=True)
    t.segment(B, [(3 * MIB, 2621440, "a"), (12 * MIB, 12 * MIB, "a"), (5 * MIB, 0, "i")])
    return t


def emptied():
    """torch.cuda.empty_cache() between two requests: the segment goes, though nobody needed it."""
    t = Trace()
    t.event("segment_alloc", A, 10 * MIB)
    t.alloc(A, 10 * MIB)
    t.free(A, 10 * MIB)
    t.event("segment_free", A, 10 * MIB)
    t.event("segment_alloc", B, 12 * MIB)
    t.alloc(B, 12 * MIB)
    t.event("segment_alloc", C, 12 * MIB)  # 24 MiB now: more than the 22 that there would have been, so that nothing was short
    t.alloc(C, 12 * MIB)
    t.segment(B, [(12 * MIB, 12 * MIB, "a")])
    t.segment(C, [(12 * MIB, 12 * MIB, "a")])
    return t


def cap():
    """30 MiB, given back, then 40 MiB, then 12 MiB beside it: 82 MiB without a cap."""
    t = Trace()
    t.event("segment_alloc", A, 30 * MIB)
    t.alloc(A, 30 * MIB)
    t.free(A, 30 * MIB)
    t.event("segment_alloc", B, 40 * MIB)
    t.alloc(B, 40 * MIB)
    t.alloc(A, 12 * MIB)
    t.segment(A, [(12 * MIB, 12 * MIB, "a"), (18 * MIB, 0, "i")])
    t.segment(B, [(40 * MIB, 40 * MIB, "a")])
    return t


def workspace():
    """A request of 60 MiB that is given back at once, beside 30 MiB that stay."""
    t = Trace()
    t.event("segment_alloc", A, 30 * MIB)
    t.alloc(A, 30 * MIB)
    t.event("segment_alloc", B, 60 * MIB)
    t.alloc(B, 60 * MIB)
    t.free(B, 60 * MIB)
    t.alloc(B, 10 * MIB)
    t.segment(A, [(30 * MIB, 30 * MIB, "a")])
    t.segment(B, [(10 * MIB, 10 * MIB, "a"), (50 * MIB, 0, "i")])
    return t


def oom():
    """Under a cap of 50 MiB: 30 MiB are held, 20 MiB are free and go, 24 MiB are refused."""
    t = Trace()
    t.event("segment_alloc", A, 30 * MIB)
    t.alloc(A, 30 * MIB)
    t.event("segment_alloc", B, 20 * MIB)
    t.alloc(B, 20 * MIB)
    t.free(B, 20 * MIB)
    t.event("segment_free", B, 20 * MIB)
    t.event("oom", 7 * MIB, 24 * MIB)
    t.segment(A, [(30 * MIB, 30 * MIB, "a")])
    return t


def expandable():
    """Pages of 20 MiB: 12 and 12 MiB take two; when both are free, 30 MiB fit without a third."""
    t = Trace(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", expandable_segments=True)
    base = 0x400000000
    t.event("segment_map", base, 20 * MIB)
    t.alloc(base, 12 * MIB)
    t.event("segment_map", base + 20 * MIB, 20 * MIB)
    t.alloc(base + 12 * MIB, 12 * MIB)
    t.free(base, 12 * MIB)
    t.free(base + 12 * MIB, 12 * MIB)
    t.alloc(base, 30 * MIB)
    t.segment(base, [(30 * MIB, 30 * MIB, "a"), (10 * MIB, 0, "i")], expandable=True)
    return t


def streams():
    """A block that another stream still uses comes back only when that is over; a stream takes nothing from another."""
    t = Trace()
    t.event("segment_alloc", A, 12 * MIB)
    t.alloc(A, 12 * MIB)
    t.event("free_requested", A, 12 * MIB)
    t.event("segment_alloc", B, 12 * MIB)
    t.alloc(B, 12 * MIB)
    t.event("free_completed", A, 12 * MIB)
    t.event("segment_alloc", C, 12 * MIB, 7)
    t.alloc(C, 12 * MIB, 7)
    t.alloc(A, 11 * MIB)
    t.event("free_requested", B, 12 * MIB)
    t.segment(A, [(12 * MIB, 11 * MIB, "a")])
    t.segment(B, [(12 * MIB, 12 * MIB, "p")])
    t.segment(C, [(12 * MIB, 12 * MIB, "a")], stream=7)
    return t


def stacks():
    """Two places in a program, one of them called through PyTorch itself."""
    t = Trace()
    frame = {"name": "forward", "filename": "/home/me/train.py", "line": 31}
    first = [{"name": "empty", "filename": "/usr/lib/python3/dist-packages/torch/functional.py", "line": 9}, frame]
    second = [{"name": "main", "filename": "/home/me/train.py", "line": 80}]
    t.event("segment_alloc", A, 12 * MIB)
    t.alloc(A, 12 * MIB, frames=first)
    t.event("segment_alloc", B, 20 * MIB)
    t.alloc(B, 2 * MIB, frames=second)
    t.alloc(B + 2 * MIB, 2 * MIB, frames=second)
    t.segment(A, [(12 * MIB, 12 * MIB, "a")])
    t.segment(B, [(2 * MIB, 2 * MIB, "a"), (2 * MIB, 2 * MIB, "a"), (16 * MIB, 0, "i")])
    return t


TORCH = "/opt/venv/lib/python3.12/site-packages/torch"
ALLOCATOR = [{"name": "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)", "filename": "??", "line": 0},
             {"name": "c10::StorageImpl::StorageImpl()", "filename": "/pytorch/c10/core/StorageImpl.h", "line": 40},
             {"name": "at::detail::empty_generic(long)", "filename": "??", "line": 0}]
LINEAR = [{"name": "at::native::linear(at::Tensor const&)", "filename": "??", "line": 0},
          {"name": "_PyEval_EvalFrameDefault", "filename": "/usr/src/Python/ceval.c", "line": 2},
          {"name": "forward", "filename": f"{TORCH}/nn/modules/linear.py", "line": 125},
          {"name": "_call_impl", "filename": f"{TORCH}/nn/modules/module.py", "line": 1750}]
PLACES = [  # a stack from the innermost frame on, as stacks="all" records it
    ALLOCATOR + LINEAR + [{"name": "step", "filename": "/home/me/torch/train.py", "line": 41},
                          {"name": "<module>", "filename": "/home/me/torch/train.py", "line": 90},
                          {"name": "run_path", "filename": "<frozen runpy>", "line": 286}],
    ALLOCATOR + [{"name": "build", "filename": "/home/me/torch/model.py", "line": 7}],
    ALLOCATOR + LINEAR + [{"name": "train", "filename": "/opt/venv/lib/python3.12/site-packages/trainer/loop.py", "line": 12},
                          {"name": "run", "filename": "/usr/lib/python3.12/threading.py", "line": 1012}],
    ALLOCATOR + [{"name": "at::native::(anonymous namespace)::conv_backward(at::Tensor const&, long)", "filename": "??", "line": 0},
                 {"name": "torch::autograd::Engine::thread_main()", "filename": "??", "line": 0}],
    ALLOCATOR,
]


def places():
    """stacks="all": of the user's file, without a library between, of an installed trainer, of the backward pass, of nothing known."""
    t = Trace()
    for i, frames in enumerate(PLACES):
        t.event("segment_alloc", A - i * 64 * MIB, 20 * MIB + 2 * i * MIB)
        t.alloc(A - i * 64 * MIB, 20 * MIB + 2 * i * MIB, frames=frames)
        t.segment(A - i * 64 * MIB, [(20 * MIB + 2 * i * MIB, 20 * MIB + 2 * i * MIB, "a")])
    return t


def part(name, file="??", line=0):
    return {"name": name, "filename": file, "line": line}


MODULE = part("_call_impl", f"{TORCH}/nn/modules/module.py", 1750)
MAIN = part("<module>", "/home/me/train.py", 90)
ENGINE = [part("torch::autograd::Node::operator()(std::vector<at::Tensor>&&)"),
          part("torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"),
          part("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)")]
MM = ALLOCATOR + [part("at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"),
                  part("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)")] + ENGINE
LAYER = ALLOCATOR + [part("forward", "/home/me/model.py", 20), MODULE, MAIN]
OTHER_LAYER = ALLOCATOR + [part("relu", f"{TORCH}/nn/functional.py", 5), part("forward", "/home/me/model.py", 20), MODULE, MAIN]
MOVED = ALLOCATOR + [part("convert", f"{TORCH}/nn/modules/module.py", 1300), part("_apply", f"{TORCH}/nn/modules/module.py", 900),
                     part("build", "/home/me/model.py", 7), MAIN]
ADAM = ALLOCATOR + [part("_init_group", f"{TORCH}/optim/adamw.py", 150), part("step", f"{TORCH}/optim/adamw.py", 210),
                    part("wrapper", f"{TORCH}/optim/optimizer.py", 487), part("train", "/home/me/train.py", 60), MAIN]
BATCH = ALLOCATOR + [part("at::_ops::_to_copy::call(at::Tensor const&)"), part("train", "/home/me/train.py", 50), MAIN]


def kinds(steps=1, leaky=False, early=False):
    """A step of a training with stacks="all": parameters of 20 and 40 MiB are moved to the GPU, a batch of 22 MiB comes, two layers keep
    24 and 26 MiB, a workspace of 28 MiB goes at once, the backward pass leaves gradients of 20 and 40 MiB and frees 30 MiB of its own,
    the optimizer makes two states of each and a temporary of 32 MiB. early: the record begins after the parameters. leaky: each step
    keeps 24 MiB. The first of several steps has them all; later ones reuse the states."""
    t, top, held = Trace(), A, {}

    def alloc(name, size, frames):
        nonlocal top
        top -= 64 * MIB
        t.event("segment_alloc", top, size * MIB)
        t.alloc(top, size * MIB, frames=frames)
        held[name] = (top, size * MIB)

    def free(name, frames=None):
        addr, size = held.pop(name)
        t.event("free_requested", addr, size, frames=frames)
        t.event("free_completed", addr, size, frames=frames)
        t.event("segment_free", addr, size)

    alloc("small parameter", 20, MOVED)
    alloc("large parameter", 40, MOVED)
    if early:
        t.events = []
    for step in range(steps):
        alloc("batch", 22, BATCH)
        alloc("workspace", 28, LAYER)
        free("workspace")
        alloc("first layer", 24, LAYER)
        alloc("second layer", 26, OTHER_LAYER)
        alloc("of the backward pass", 30, MM)
        alloc("large gradient", 40, MM)
        free("of the backward pass", MM)
        free("second layer", MM)
        if leaky:
            held[f"kept {step}"] = held.pop("first layer")
        else:
            free("first layer", MM)
        alloc("small gradient", 20, MM)
        t.mark("Optimizer.step#AdamW.step")
        for size in (20, 40, 20, 40) if step == 0 else ():
            alloc(f"state {len(held)}", size, ADAM)
        alloc("of the optimizer", 32, ADAM)
        free("of the optimizer", ADAM)
        free("batch")
        if step + 1 < steps:
            free("small gradient", ADAM)
            free("large gradient", ADAM)
    t.event("snapshot", 0, 0)
    for addr, size in held.values():
        t.segment(addr, [(size, size, "a")])
    return t


def capped():
    """As `oom`, but the GPU has 7 GiB free: it was a cap, of at least the 50 MiB that were reserved and below 30 + 24."""
    t = oom()
    t.events[-1]["device_free"] = 7 << 30
    t.events[-1]["frames"] = PLACES[0]
    return t


class Small:
    """The allocator's small and large pools with best fit over free blocks, splitting and merging: enough for made-up runs."""

    def __init__(self, trace):
        self.t, self.top, self.blocks, self.order = trace, A, {}, []

    def alloc(self, size):
        rounded = max(512, (size + 511) // 512 * 512)
        small = rounded <= MIB
        fits = [(b[1], a) for a, b in self.blocks.items() if b[0] == small and b[2] is None and b[1] >= rounded]
        if fits:
            addr = min(fits)[1]
        else:
            room = 2 * MIB if small else 20 * MIB if rounded < 10 * MIB else (rounded + 2 * MIB - 1) // (2 * MIB) * 2 * MIB
            self.top -= (room + 32 * MIB - 1) // (32 * MIB) * 32 * MIB
            addr = self.top
            self.blocks[addr] = [small, room, None, addr]
            self.t.event("segment_alloc", addr, room)
        block = self.blocks[addr]
        rest = block[1] - rounded
        if rest >= 512 if small else rest > MIB:
            self.blocks[addr + rounded] = [small, rest, None, block[3]]
            block[1] = rounded
        block[2] = size
        self.t.alloc(addr, size)
        return addr

    def free(self, addr):
        block = self.blocks[addr]
        self.t.free(addr, block[2])
        block[2] = None
        after = self.blocks.get(addr + block[1])
        if after and after[2] is None and after[3] == block[3]:
            del self.blocks[addr + block[1]]
            block[1] += after[1]
        for a, b in self.blocks.items():
            if b[3] == block[3] and a + b[1] == addr and b[2] is None:
                b[1] += block[1]
                del self.blocks[addr]
                break

    def finish(self):
        heads = sorted({b[3] for b in self.blocks.values()})
        for head in heads:
            inside = sorted((a, b) for a, b in self.blocks.items() if b[3] == head)
            self.t.segment(head, [(b[1], b[2] or 0, "i" if b[2] is None else "a") for _, b in inside], small=inside[0][1][0])


def leak(marked=True, keep=True):
    """Eight epochs; each leaves one block of 3 MiB behind and asks 12 times for what it gives back."""
    t = Trace()
    run = Small(t)
    run.alloc(32 * MIB)
    for epoch in range(8):
        if marked:
            t.mark(f"epoch {epoch}")
        for _ in range(12):
            used = [run.alloc(5 * MIB), run.alloc(300 << 10)]
            for addr in used:
                run.free(addr)
        kept = run.alloc(3 * MIB)
        if not keep:
            run.free(kept)
    run.finish()
    return t


def early():
    """The end of `split`, with a record that begins after the fourth request."""
    t = split()
    t.events = t.events[6:]
    return t


def wide(events, end=False):
    """A long trace: 200 live blocks of mixed sizes, replaced one after the other; end: all are freed at its end."""
    t = Trace()
    run, live, seed = Small(t), [], 7
    while len(t.events) < events:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        size = [4 << 10, 96 << 10, 700 << 10, 3 * MIB, 11 * MIB][(seed >> 33) % 5] + (seed >> 40) % 4096
        live.append(run.alloc(size))
        if len(live) > 200:
            run.free(live.pop((seed >> 50) % 200))
    while end and (live or len(t.events) % 1000):
        run.free(live.pop() if live else run.alloc(512))
    run.finish()
    return t


def number(n, long_bytes=0):
    """long_bytes: the C++ writer gives every long number 8 bytes."""
    if 0 <= n < 256:
        return b"K" + bytes([n])
    if 0 <= n < 65536:
        return b"M" + struct.pack("<H", n)
    if -(1 << 31) <= n < 1 << 31:
        return b"J" + struct.pack("<i", n)
    length = long_bytes or n.bit_length() // 8 + 1
    return b"\x8a" + bytes([length]) + n.to_bytes(length, "little", signed=True)


def make_frames():
    """Of the allocator, of PyTorch's operators and Python, of a user's file: 1,200 of them, names as long as real ones."""
    frames = [{"name": f"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::step{i}(unsigned long, CUstream_st*)",
               "filename": "??", "line": 0} for i in range(20)]
    frames += [{"name": f"at::_ops::operator_{i}::call(at::Tensor const&, at::Tensor const&, std::optional<at::Tensor> const&)",
                "filename": "??", "line": 0} for i in range(580)]
    frames += [{"name": "forward", "filename": f"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module_{i}.py",
                "line": 100 + i} for i in range(300)]
    return frames + [{"name": f"step_{i}", "filename": "/home/me/project/train.py", "line": i} for i in range(300)]


def write_big(path, events, depth=0, protocol=4, unlike=False):
    """The same stretch over and over, byte for byte as the writers do it, but a thousand events at a time."""
    base = wide(20000, end=True)
    out, memos = bytearray(b"\x80" + bytes([protocol])), 0
    seed = 1

    def memo():
        nonlocal memos
        memos += 1
        if protocol == 4:
            return b"\x94"
        return b"q" + bytes([memos - 1]) if memos <= 256 else b"r" + struct.pack("<I", memos - 1)

    def text(words):
        data = words.encode()
        return (b"\x8c" + bytes([len(data)]) if protocol == 4 else b"X" + struct.pack("<I", len(data))) + data + memo()

    def get(place):
        return b"h" + bytes([place]) if place < 256 else b"j" + struct.pack("<I", place)

    def put(container, inside):
        """Python's pickler remembers a container before it is filled, PyTorch's writer after."""
        if protocol == 4:
            return container[:1] + memo() + container[1:2] + inside() + container[2:]
        return container + inside() + (b"u" if container[:1] == b"}" else b"e") + memo()

    # A real file has its segments before the events: their words come late, and need the long form.
    words = ["size", "stream"] + [f"memo {i}" for i in range(297)]
    words += ["action", "addr", "time_us", "compile_context", "user_metadata", "", "N/A", "frames", "name", "filename", "line", "alloc",
              "free_requested", "free_completed", "segment_alloc"]
    place = {}

    def remember(words):
        place[words] = memos
        return text(words)

    word = lambda name: get(place[name])
    fields = lambda event: (word("action") + word(event["action"]) + word("addr") + number(event["addr"]) + word("size") +
                            number(event["size"]) + word("stream") + number(0) + word("time_us") + number(event["time_us"]) +
                            word("compile_context") +
                            (text("N/A") if protocol == 4 else word("N/A")) +  # made anew for each event
                            word("user_metadata") + word(""))
    out += b"}" + (memo() if protocol == 4 else b"") + b"("
    out += text("words") + b"]" + (memo() if protocol == 4 else b"") + b"(" + b"".join(remember(w) for w in words)
    frames = []
    for frame in make_frames() if depth else []:
        files = place.get(frame["filename"])
        head = b"}" + memo() + b"(" if protocol == 4 else b"}("
        at = memos - 1
        head += word("name") + text(frame["name"]) + word("filename")
        head += get(files) if files else remember(frame["filename"])
        out += head + word("line") + number(frame["line"]) + b"u" + (memo() if protocol == 2 else b"")
        frames.append(get(at if protocol == 4 else memos - 1))
    out += b"e" + (memo() if protocol == 2 else b"")
    out += text("segments") + b"]" + memo() + text("device_traces")
    out += b"]\x94(]\x94" if protocol == 4 else b"](]"

    def stack():
        """The allocator's frames, then operators, PyTorch's Python, the user's file: as deep as asked for."""
        nonlocal seed
        chosen = []
        for i in range(depth):
            seed = (seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            part, width = ((0, 20), (20, 580), (600, 300), (900, 300))[min(3, i * 4 // depth)]
            chosen.append(frames[part + (seed >> 40) % width])
        return b"".join(chosen)

    stacks = [stack() for _ in range(300 if depth else 0)]

    def made(i, event):
        inside = fields(event)
        if depth:
            mine = stack() if unlike else stacks[i % 300]
            if protocol == 4:
                inside += word("frames") + b"]\x94(" + mine + b"e"
            else:
                inside += word("frames") + b"](" + mine + b"e" + memo()
        return b"}\x94(" + inside + b"u" if protocol == 4 else b"}(" + inside + b"u" + memo()

    count = len(base.events) // 1000 * 1000
    ready = None if unlike or protocol == 2 else [made(i, base.events[i]) for i in range(count)]
    with open(path, "wb") as file:
        file.write(out)
        for i in range(0, events // 1000 * 1000, 1000):
            part = [ready[j % count] if ready else made(j, base.events[j % count]) for j in range(i, i + 1000)]
            file.write(b"(" + b"".join(part) + b"e")
        file.write(b"eu." if protocol == 4 else memo() + b"e" + memo() + b"u" + memo() + b".")


def write_hostile(path):
    """{"segments": [], "device_traces": [[...]]}: a frame whose names have 150 kB each, and stacks that name it again and again, each
    with another frame at its end."""
    short = lambda words: b"\x8c" + bytes([len(words)]) + words.encode() + b"\x94"
    long = lambda letter: b"X" + struct.pack("<I", 150000) + letter * 150000 + b"\x94"
    out = b"\x80\x04}\x94(" + short("name") + long(b"f") + short("filename") + long(b"g")  # memos 1 to 4
    out += short("frames") + short("action") + short("snapshot") + short("line")  # 5 to 8
    out += short("frame") + b"}\x94(h\x01h\x02h\x03h\x04h\x08K\x01u"  # 9, 10
    out += short("segments") + b"]\x94" + short("device_traces") + b"]\x94(]\x94("
    for i in range(200):
        out += b"}\x94(h\x06h\x07h\x05]\x94(" + b"h\x0a" * 200
        out += b"}\x94(h\x01h\x02h\x03h\x04h\x08M" + struct.pack("<H", i) + b"ueu"
    with open(path, "wb") as file:
        file.write(out + b"eeu.")


def write_proto2(value, out):
    """As PyTorch's C++ writer does: protocol 2, every number above 2**31 in LONG1 of 8 bytes, tuples by MARK and TUPLE."""
    memo = {}

    def text(s):
        if s in memo:
            out.extend(b"h" + struct.pack("<B", memo[s]) if memo[s] < 256 else b"j" + struct.pack("<I", memo[s]))
            return
        data = s.encode()
        memo[s] = len(memo)
        out.extend(b"X" + struct.pack("<I", len(data)) + data)
        out.extend(b"q" + struct.pack("<B", memo[s]) if memo[s] < 256 else b"r" + struct.pack("<I", memo[s]))

    def put(v):
        if v is None:
            out.extend(b"N")
        elif isinstance(v, bool):
            out.extend(b"\x88" if v else b"\x89")
        elif isinstance(v, int):
            out.extend(number(v, 8))
        elif isinstance(v, float):
            out.extend(b"G" + struct.pack(">d", v))
        elif isinstance(v, str):
            text(v)
        elif isinstance(v, dict):
            out.extend(b"}(")
            for key, item in v.items():
                put(key)
                put(item)
            out.extend(b"u")
        elif isinstance(v, (list, tuple)):
            out.extend(b"](" if isinstance(v, list) else b"(")
            for item in v:
                put(item)
            out.extend(b"e" if isinstance(v, list) else b"t")

    out.extend(b"\x80\x02")
    put(value)
    out.extend(b".")


def main():
    name, path = sys.argv[1:3]
    if name == "proto2":
        data = bytearray()
        write_proto2(split().root(), data)
    elif name == "big":
        write_big(path, int(sys.argv[3]))
        return
    elif name == "stacked":
        write_big(path, int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), "unlike" in sys.argv[6:])
        return
    elif name == "hostile":
        write_hostile(path)
        return
    elif name == "wide":
        data = pickle.dumps(wide(3000).root(), protocol=4)
    elif name == "kinds_late":
        data = pickle.dumps(kinds(early=True).root(), protocol=4)
    elif name in ("kinds_leak", "kinds_steady"):
        data = pickle.dumps(kinds(6, leaky=name == "kinds_leak").root(), protocol=4)
    elif name == "steady":
        data = pickle.dumps(leak(keep=False).root(), protocol=4)
    else:
        data = pickle.dumps(globals()[name]().root(), protocol=4)
    with open(path, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
