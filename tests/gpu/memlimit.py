"""libtare-cuda.so on a real GPU: memlimit.py all|list|NAME... Environment: LIB, the library (else it is looked for in build/, else
compiled by cc). Every test runs in a process of its own with the library loaded and says what it compared; the last line counts.

What the library counts is compared with what the program itself asked for (byte for byte) and with what the driver says of the process
(NVML, to 2 MiB an allocation); limits with NVML's figure at every moment."""
import ctypes as c
import glob
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import ledger as ledgers  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
SKIP = 77


def say(*words):
    print("#", *words, flush=True)


def check(good, what, *words):
    print("%s: %s" % ("ok" if good else "FAIL", what), *words, flush=True)
    if not good:
        check.failed += 1


check.failed = 0


def need(module):
    if importlib.util.find_spec(module) is None:
        print("SKIP: no", module, flush=True)
        sys.exit(SKIP)


def mib(number):
    return "%.2f MiB" % (number / MIB)


# ---- the driver, by hand ---------------------------------------------------------------------------------------------------------

class Cuda:
    def __init__(self):
        self.lib = c.CDLL("libcuda.so.1")
        self.ok("cuInit", 0)
        device = c.c_int()
        self.ok("cuDeviceGet", c.byref(device), 0)
        self.context = c.c_void_p()
        self.ok("cuDevicePrimaryCtxRetain", c.byref(self.context), device)
        self.ok("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        return getattr(self.lib, name)(*arguments)

    def ok(self, name, *arguments):
        result = self.call(name, *arguments)
        if result:
            raise RuntimeError("%s: error %d" % (name, result))

    def alloc(self, size):
        out = c.c_uint64()
        result = self.call("cuMemAlloc_v2", c.byref(out), c.c_size_t(size))
        return result, out.value

    def free(self, pointer):
        self.ok("cuMemFree_v2", c.c_uint64(pointer))

    def info(self):
        free, total = c.c_size_t(), c.c_size_t()
        self.ok("cuMemGetInfo_v2", c.byref(free), c.byref(total))
        return free.value, total.value

    def sync(self):
        self.ok("cuCtxSynchronize")


class Follower:
    """Compares, step by step, the ledger with what the program knows and with NVML."""

    def __init__(self):
        self.ledger, self.nvml = ledgers.Ledger.mine(), ledgers.Nvml()
        self.live = 0
        self.worst_exact = self.worst_nvml = 0
        self.start()

    def start(self):
        self.base_nvml, self.base_held = self.nvml.own(), self.ledger.gpu.held
        self.steps = 0
        return self

    def step(self, what, change, allocations=1, show=True):
        self.live += change
        self.steps += allocations
        gpu = self.ledger.gpu
        nvml = self.nvml.own()
        exact = gpu.live - self.live
        far = (nvml - self.base_nvml) - (gpu.held - self.base_held)
        self.worst_exact = max(self.worst_exact, abs(exact))
        per = abs(far) / max(1, self.steps)
        self.worst_nvml = max(self.worst_nvml, per)
        if show:
            say("%-34s live %d (%+d)  held since start %s, NVML %s (%+.2f MiB)" %
                (what, gpu.live, exact, mib(gpu.held - self.base_held), mib(nvml - self.base_nvml), far / MIB))
        return far

    def verdict(self, what, exact=True):
        if exact:
            check(self.worst_exact == 0, what + ": live bytes are the program's own", "(worst %d)" % self.worst_exact)
        check(self.worst_nvml <= 2 * MIB, what + ": held follows NVML within 2 MiB per allocation",
              "(worst %s per allocation)" % mib(self.worst_nvml))


def work_plain():
    cuda = Cuda()
    result, first = cuda.alloc(1)  # the context is warm
    cuda.free(first)
    f = Follower()
    f.live = f.ledger.gpu.live
    held = []
    peak = 0
    for size in [1, 512, 513, 4096, 100000, MIB - 1, MIB, MIB + 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3 * MIB, 20 * MIB, 33 * MIB + 7,
                 GIB, GIB + 1]:
        result, pointer = cuda.alloc(size)
        assert result == 0, result
        held.append((size, pointer))
        f.step("cuMemAlloc %d" % size, size)
        peak = max(peak, f.live)
    for size, pointer in reversed(held):
        cuda.free(pointer)
        f.step("cuMemFree %d" % size, -size)
    f.verdict("plain")
    check(f.ledger.gpu.live_peak == peak, "plain: the peak is the program's own, to the byte", f.ledger.gpu.live_peak, peak)
    # Many small ones share pages.
    f.start()
    small = [cuda.alloc(1000)[1] for _ in range(5000)]
    far = f.step("5000 x cuMemAlloc 1000", 5000 * 1000, 5000)
    check(f.ledger.gpu.live == f.live, "small: live bytes are exact")
    check(abs(far) <= 4 * MIB, "small: 5000 allocations of 1000 bytes: held within 4 MiB of NVML in all", mib(far))
    for pointer in small:
        cuda.free(pointer)
    f.step("5000 x cuMemFree", -5000 * 1000, 5000)
    check(f.ledger.gpu.live == f.live, "small: live bytes are exact after the frees")


def work_kinds():
    cuda = Cuda()
    result, first = cuda.alloc(1)
    f = Follower()
    f.live = f.ledger.gpu.live
    pointer, pitch = c.c_uint64(), c.c_size_t()
    cuda.ok("cuMemAllocPitch_v2", c.byref(pointer), c.byref(pitch), c.c_size_t(1000), c.c_size_t(5000), 4)
    f.step("cuMemAllocPitch 1000x5000 (pitch %d)" % pitch.value, pitch.value * 5000)
    cuda.free(pointer.value)
    f.step("its free", -pitch.value * 5000)

    class Array3d(c.Structure):
        _fields_ = [("w", c.c_size_t), ("h", c.c_size_t), ("d", c.c_size_t), ("format", c.c_int), ("channels", c.c_uint), ("flags", c.c_uint)]

    array = c.c_void_p()
    cuda.ok("cuArray3DCreate_v2", c.byref(array), c.byref(Array3d(1024, 1024, 16, 0x20, 4, 0)))
    f.step("cuArray3DCreate 1024x1024x16 float4", 1024 * 1024 * 16 * 16)
    cuda.ok("cuArrayDestroy", array)
    f.step("its end", -1024 * 1024 * 16 * 16)
    f.verdict("pitch and arrays")
    managed = c.c_uint64()
    cuda.ok("cuMemAllocManaged", c.byref(managed), c.c_size_t(64 * MIB), 1)
    check(f.ledger.gpu.live == f.live + 64 * MIB, "managed memory is counted whole")
    cuda.free(managed.value)
    check(f.ledger.gpu.live == f.live, "and freed whole")


def work_virtual():
    cuda = Cuda()
    cuda.alloc(1)

    class Prop(c.Structure):
        _fields_ = [("type", c.c_int), ("handles", c.c_int), ("place_type", c.c_int), ("place_id", c.c_int), ("win", c.c_void_p),
                    ("flags", c.c_ubyte * 8)]

    f = Follower()
    f.live = f.ledger.gpu.live
    prop, size = Prop(1, 0, 1, 0, None), 20 * MIB
    handle, address, again = c.c_ulonglong(), c.c_uint64(), c.c_ulonglong()
    cuda.ok("cuMemAddressReserve", c.byref(address), c.c_size_t(4 * size), c.c_size_t(0), c.c_uint64(0), c.c_ulonglong(0))
    cuda.ok("cuMemCreate", c.byref(handle), c.c_size_t(size), c.byref(prop), c.c_ulonglong(0))
    f.step("cuMemCreate 20 MiB", size)
    cuda.ok("cuMemMap", address, c.c_size_t(size), c.c_size_t(0), handle, c.c_ulonglong(0))
    cuda.ok("cuMemRelease", handle)
    f.step("mapped, handle released: still there", 0, 0)
    cuda.ok("cuMemRetainAllocationHandle", c.byref(again), c.c_void_p(address.value + 4096))
    say("the retained handle has %s value" % ("the same" if again.value == handle.value else "another"))
    cuda.ok("cuMemUnmap", address, c.c_size_t(size))
    f.step("unmapped, retained: still there", 0, 0)
    cuda.ok("cuMemRelease", again)
    f.step("released: gone", -size)
    handles = []
    for i in range(4):
        one = c.c_ulonglong()
        cuda.ok("cuMemCreate", c.byref(one), c.c_size_t(size), c.byref(prop), c.c_ulonglong(0))
        cuda.ok("cuMemMap", c.c_uint64(address.value + i * size), c.c_size_t(size), c.c_size_t(0), one, c.c_ulonglong(0))
        cuda.ok("cuMemRelease", one)
        handles.append(one)
    f.step("four pieces mapped in a row", 4 * size, 4)
    result = cuda.call("cuMemUnmap", address, c.c_size_t(4 * size))
    say("one cuMemUnmap over all four: result", result)
    if result:
        for i in range(4):
            cuda.ok("cuMemUnmap", c.c_uint64(address.value + i * size), c.c_size_t(size))
    f.step("unmapped", -4 * size, 4)
    f.verdict("virtual memory")


def work_async():
    cuda = Cuda()
    cuda.alloc(1)
    f = Follower()
    f.live = f.ledger.gpu.live
    pointers = []
    for size in [1, 1000, MIB, 5 * MIB, 40 * MIB, 200 * MIB, 3 * MIB]:
        out = c.c_uint64()
        cuda.ok("cuMemAllocAsync", c.byref(out), c.c_size_t(size), None)
        cuda.sync()
        f.step("cuMemAllocAsync %d" % size, size)
        pointers.append((size, out))
    for size, out in pointers:
        cuda.ok("cuMemFreeAsync", out, None)
        f.live -= size
    check(f.ledger.gpu.live == f.live, "async: live bytes are exact after the frees")
    cuda.sync()
    pool = c.c_void_p()
    cuda.ok("cuDeviceGetMemPool", c.byref(pool), 0)
    cuda.ok("cuMemPoolTrimTo", pool, c.c_size_t(0))
    f.step("freed and trimmed", 0, 0)
    f.verdict("async")


def work_streams():
    """The two default streams; a captured one."""
    cuda = Cuda()
    cuda.alloc(1)
    f = Follower()
    f.live = f.ledger.gpu.live
    out = c.c_uint64()
    cuda.ok("cuMemAllocAsync_ptsz", c.byref(out), c.c_size_t(7 * MIB), None)
    f.step("cuMemAllocAsync_ptsz 7 MiB", 7 * MIB)
    cuda.ok("cuMemFreeAsync_ptsz", out, None)
    f.live -= 7 * MIB
    stream, graph, node = c.c_void_p(), c.c_void_p(), c.c_uint64()
    cuda.ok("cuStreamCreate", c.byref(stream), 1)
    cuda.ok("cuStreamBeginCapture_v2", stream, 1)
    cuda.ok("cuMemAllocAsync", c.byref(node), c.c_size_t(9 * MIB), stream)
    cuda.ok("cuMemFreeAsync", node, stream)
    cuda.ok("cuStreamEndCapture", stream, c.byref(graph))
    check(f.ledger.gpu.live == f.live, "a captured allocation is the graph's: not counted, the capture is not disturbed")


# ---- frameworks ------------------------------------------------------------------------------------------------------------------

def torch_of(backend):
    need("torch")
    if backend:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = backend
    import torch
    return torch


def follow_torch(backend, name, exact):
    torch = torch_of(backend)
    x = torch.randn(1024, 1024, device="cuda")
    (x @ x).sum().item()  # warm: context, cuBLAS and its workspace
    torch.cuda.synchronize()
    f = Follower()
    start_live, start_reserved = f.ledger.gpu.live, torch.cuda.memory_reserved()
    f.live = f.ledger.gpu.live
    kept = []
    for size in [300, 5000, MIB, 3 * MIB, 17 * MIB, 100 * MIB, 256 * MIB, 999 * MIB, 3 * GIB]:
        before, live = torch.cuda.memory_reserved(), f.ledger.gpu.live
        kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        torch.cuda.synchronize()
        f.live = f.ledger.gpu.live
        f.step("torch.empty %s" % mib(size), 0)
    grown = torch.cuda.memory_reserved() - start_reserved
    if exact:
        check(f.ledger.gpu.live - start_live == grown, name + ": live grew by what PyTorch reserved, to the byte",
              f.ledger.gpu.live - start_live, grown)
    else:
        asked = sum(t.numel() for t in kept)
        say("live grew by %d, tensors hold %d" % (f.ledger.gpu.live - start_live, asked))
    f.verdict(name, exact=False)
    del kept
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
    torch.cuda.mem_get_info()
    f.step("all given back", 0)
    say("allocations", f.ledger.own().allocations, "frees", f.ledger.own().frees, "context + rest by NVML",
        mib(f.nvml.own() - f.ledger.gpu.held))


def work_torch():
    follow_torch("", "torch native", True)


def work_torch_async():
    follow_torch("backend:cudaMallocAsync", "torch cudaMallocAsync", False)


def work_torch_expandable():
    follow_torch("expandable_segments:True", "torch expandable", True)


def work_jax():
    need("jax")
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = os.environ.get("JAX_ALLOCATOR", "default")
    import jax
    import jax.numpy as jnp
    if jax.default_backend() != "gpu":
        print("SKIP: JAX sees no GPU", flush=True)
        sys.exit(SKIP)
    x = jnp.ones((1024, 1024))
    (x @ x).block_until_ready()
    f = Follower()
    f.live = f.ledger.gpu.live
    kept = []
    for size in [MIB, 17 * MIB, 100 * MIB, 600 * MIB, 2 * GIB]:
        kept.append(jax.device_put(jnp.zeros(size, dtype=jnp.uint8)).block_until_ready())
        f.live = f.ledger.gpu.live
        f.step("jax %s" % mib(size), 0, max(1, f.ledger.own().allocations - f.steps))
    f.verdict("jax", exact=False)
    stats = jax.devices()[0].memory_stats() or {}
    say("jax says", {k: stats.get(k) for k in ("bytes_in_use", "peak_bytes_in_use", "pool_bytes")}, "ledger", f.ledger.gpu.live)


def work_cupy():
    need("cupy")
    import cupy
    x = cupy.ones((1024, 1024))
    float((x @ x).sum())
    pool = cupy.get_default_memory_pool()
    f = Follower()
    f.live = f.ledger.gpu.live
    start, start_live = pool.total_bytes(), f.ledger.gpu.live
    kept = []
    for size in [300, 5000, MIB, 17 * MIB, 100 * MIB, 999 * MIB, 2 * GIB]:
        kept.append(cupy.empty(size, dtype=cupy.uint8))
        f.live = f.ledger.gpu.live
        f.step("cupy %s" % mib(size), 0)
    check(f.ledger.gpu.live - start_live == pool.total_bytes() - start, "cupy: live grew by what its pool holds, to the byte",
          f.ledger.gpu.live - start_live, pool.total_bytes() - start)
    f.verdict("cupy", exact=False)


# ---- limits ----------------------------------------------------------------------------------------------------------------------

class Watch(threading.Thread):
    """NVML's largest figure for these processes together, as often as it can be asked."""

    def __init__(self, pids=None):
        super().__init__(daemon=True)
        self.nvml, self.pids, self.most, self.samples, self.over = ledgers.Nvml(), pids, 0, 0, False
        self.start()

    def run(self):
        while not self.over:
            pids = self.pids() if self.pids else [os.getpid()]
            self.most = max(self.most, self.nvml.of(pids))
            self.samples += 1

    def end(self):
        self.over = True
        self.join()
        self.most = max(self.most, self.nvml.of(self.pids() if self.pids else [os.getpid()]))
        return self.most


def near_limit(name, watch, least):
    most = watch.end()
    f = ledgers.Ledger.mine()
    limit = f.gpu.limit
    say("limit %s, NVML at most %s (%d samples), by the books %s, context %s (%s), refused %d" %
        (mib(limit), mib(most), watch.samples, mib(f.gpu.footprint_peak), mib(f.gpu.context),
         ["unknown", "read", "assumed"][f.gpu.how], f.gpu.refused))
    check(0 < most <= limit, name + ": the limit was never exceeded", mib(most), "of", mib(limit))
    check(most >= least * limit, name + ": and nearly reached", "%.1f %%" % (100 * most / limit))


def work_limit_plain():
    cuda = Cuda()
    limit = ledgers.Ledger.mine().table.limit
    free, total = cuda.info()
    check(total == limit, "plain: cuMemGetInfo shows the limited size", total, limit)
    watch = Watch()
    for piece in [256 * MIB, 64 * MIB, 16 * MIB, 2 * MIB]:
        while True:
            result, _ = cuda.alloc(piece)
            if result:
                break
    check(result == 2, "plain: the driver's own out of memory comes back", result)
    free, total = cuda.info()
    check(free < 4 * MIB, "plain: nothing is free then", free)
    near_limit("plain", watch, 0.98)


def limit_torch(backend, name):
    torch = torch_of(backend)
    limit = ledgers.Ledger.mine().table.limit
    x = torch.randn(512, 512, device="cuda")
    (x @ x).sum().item()
    check(torch.cuda.mem_get_info()[1] == limit, name + ": mem_get_info shows the limited size", torch.cuda.mem_get_info()[1])
    say("get_device_properties total:", torch.cuda.get_device_properties(0).total_memory)
    watch, kept, message = Watch(), [], ""
    for piece in [256 * MIB, 64 * MIB, 20 * MIB]:
        try:
            while True:
                kept.append(torch.empty(piece, dtype=torch.uint8, device="cuda").fill_(1))
        except torch.cuda.OutOfMemoryError as error:
            message = str(error).splitlines()[0]
    torch.cuda.synchronize()
    say("PyTorch says:", message[:300])
    near_limit(name, watch, 0.97)
    kept.clear()
    torch.empty(GIB, dtype=torch.uint8, device="cuda").fill_(1)
    check(True, name + ": goes on after the refusals")


def work_limit_torch():
    limit_torch("", "torch native")


def work_limit_torch_async():
    limit_torch("backend:cudaMallocAsync", "torch cudaMallocAsync")


def work_limit_torch_expandable():
    limit_torch("expandable_segments:True", "torch expandable")


def work_limit_jax():
    need("jax")
    watch = Watch()
    import jax
    import jax.numpy as jnp
    if jax.default_backend() != "gpu":
        print("SKIP: JAX sees no GPU", flush=True)
        sys.exit(SKIP)
    kept = []
    try:
        while True:
            kept.append(jax.device_put(jnp.zeros(256 * MIB, dtype=jnp.uint8)).block_until_ready())
    except Exception as error:
        say("JAX says:", str(error).splitlines()[0][:300])
    near_limit("jax (preallocating, as it does)", watch, 0.70)


def work_limit_cupy():
    need("cupy")
    import cupy
    watch, kept, message = Watch(), [], ""
    for piece in [256 * MIB, 64 * MIB, 16 * MIB]:
        try:
            while True:
                kept.append(cupy.ones(piece, dtype=cupy.uint8))
        except cupy.cuda.memory.OutOfMemoryError as error:
            message = str(error)
    say("CuPy says:", message[:300])
    near_limit("cupy", watch, 0.97)


def work_limit_threads():
    cuda = Cuda()
    watch = Watch()

    def fill(seed):
        cuda.ok("cuCtxSetCurrent", cuda.context)
        held = []
        for i in range(400):
            if (i * 7 + seed) % 3 and held:
                cuda.free(held.pop())
            result, pointer = cuda.alloc((1 + (i * 31 + seed * 17) % 200) * MIB)
            assert result in (0, 2), result
            if not result:
                held.append(pointer)

    threads = [threading.Thread(target=fill, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    near_limit("8 threads", watch, 0.90)


def child_fill(seed):
    """A child of the job, started anew (spawn): it fills what it gets and keeps it for a while."""
    cuda = Cuda()
    for piece in [128 * MIB, 16 * MIB]:
        while cuda.alloc(piece)[0] == 0:
            pass
    time.sleep(2)


def work_limit_children():
    import multiprocessing
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=child_fill, args=(i,)) for i in range(3)]
    watch = Watch(lambda: [child.pid for child in children if child.pid])
    [child.start() for child in children]
    [child.join() for child in children]
    near_limit("3 spawned processes together", watch, 0.90)


def work_limit_fork():
    """Forked before CUDA is touched, one after the other: each finds the limit empty."""
    for i in range(2):
        pid = os.fork()
        if pid == 0:
            cuda = Cuda()
            count = 0
            while cuda.alloc(128 * MIB)[0] == 0:
                count += 1
            check(count * 128 * MIB > 0.75 * ledgers.Ledger.mine().table.limit, "forked child %d filled its limit" % i,
                  mib(count * 128 * MIB))
            os._exit(1 if check.failed else 0)
        _, status = os.waitpid(pid, 0)
        check(status == 0, "forked child %d ended well" % i)
    # After CUDA is in use the child has none of it; the parent's books are its own.
    cuda = Cuda()
    result, pointer = cuda.alloc(64 * MIB)
    live = ledgers.Ledger.mine().gpu.live
    pid = os.fork()
    if pid == 0:
        os._exit(0 if cuda.call("cuMemFree_v2", c.c_uint64(pointer)) else 1)
    os.waitpid(pid, 0)
    check(ledgers.Ledger.mine().gpu.live == live, "a forked child frees nothing of its parent's")


def keep_and_wait(size, ready):
    """A child of the job, started anew: it has so much until it is killed."""
    cuda = Cuda()
    result, _ = cuda.alloc(size)
    ready.put(result)
    time.sleep(600)


def work_limit_dead():
    """What killed processes had is free, for those that live and for the sum: they never add up."""
    import multiprocessing
    spawn = multiprocessing.get_context("spawn")
    cuda, book = Cuda(), ledgers.Ledger.mine()
    before, _ = cuda.info()
    for i in range(3):
        ready = spawn.Queue()
        child = spawn.Process(target=keep_and_wait, args=(1000 * MIB, ready))
        child.start()
        check(ready.get() == 0, "child %d has its memory" % i)
        during, _ = cuda.info()
        check(during <= before - 1000 * MIB, "it is not free then", mib(during))
        child.kill()
        child.join()
        time.sleep(0.5)  # the driver takes it back
        after, _ = cuda.info()
        check(abs(after - before) <= 16 * MIB, "it is free when child %d was killed" % i, mib(before), mib(after))
        result, pointer = cuda.alloc(300 * MIB)
        check(result == 0, "and can be had")
        cuda.free(pointer)
    check(book.gpu.live_peak == 1000 * MIB, "the peak is that of those that were alive together", mib(book.gpu.live_peak))


def work_limit_files():
    """At the limit of open files memory stays counted and limited."""
    import resource
    cuda, book = Cuda(), ledgers.Ledger.mine()
    cuda.alloc(2 * MIB)
    watch = Watch(lambda: [os.getpid()])
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    held = []
    try:
        while True:
            held.append(os.dup(0))
    except OSError:
        pass
    pointers, result = [], 0
    while result == 0:
        result, pointer = cuda.alloc(64 * MIB)
        pointers.append(pointer)
    check(result == 2 and cuda.alloc(64 * MIB)[0] == 2, "the limit refuses, and goes on refusing", result)
    cuda.free(pointers[0])
    check(cuda.alloc(64 * MIB)[0] == 0, "what is freed can be had again")
    check(book.gpu.live < 1 << 40, "nothing went below 0", book.gpu.live)
    for number in held:
        os.close(number)
    near_limit("at the limit of open files", watch, 0.85)


def work_refused():
    """A request that the driver refuses raises no peak."""
    cuda, book = Cuda(), ledgers.Ledger.mine()
    much = 4 * book.gpu.total if book.gpu.total else 1 << 40
    check(cuda.alloc(16 * MIB)[0] == 0, "16 MiB")
    held, live, footprint = book.gpu.held_peak, book.gpu.live_peak, book.gpu.footprint_peak
    check(cuda.alloc(much)[0] == 2, "the driver refuses what no GPU has", mib(much))
    check((book.gpu.held_peak, book.gpu.live_peak, book.gpu.footprint_peak) == (held, live, footprint), "no peak rose")
    check(book.gpu.driver_refused == 1 and book.gpu.driver_refused_most == much, "it is told apart", book.gpu.driver_refused)


def work_abis():
    """cuCtxCreate as each version of CUDA has it, by cuGetProcAddress."""
    cuda = Cuda()
    version = c.c_int()
    cuda.ok("cuDriverGetVersion", c.byref(version))
    for asked in (11000, 11030, 11040, 12000, 12040, 12050, 12080, 13000):
        if asked > version.value:
            continue
        entry, status, context = c.c_void_p(), c.c_int(), c.c_void_p()
        cuda.ok("cuGetProcAddress_v2", b"cuCtxCreate", c.byref(entry), asked, c.c_uint64(0), c.byref(status))
        if asked >= 12050:  # CUctxCreateParams may be NULL
            create = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_uint, c.c_int)(entry.value)
            result = create(c.addressof(context), None, 0, 0)
        elif asked >= 11040:
            create = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_int, c.c_uint, c.c_int)(entry.value)
            result = create(c.addressof(context), None, 0, 0, 0)
        else:
            create = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_int)(entry.value)
            result = create(c.addressof(context), 0, 0)
        check(result == 0 and context.value, "cuCtxCreate of %d" % asked, result)
        if context.value:
            cuda.ok("cuCtxDestroy_v2", context)


# ---- cost ------------------------------------------------------------------------------------------------------------------------

BENCH = r"""
#include "gpu_memory/preload/elf_find.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* In one process, by turns: the driver's own functions, found without dlsym, and those that dlsym gives. */
typedef int (*alloc_fn)(uint64_t *, size_t, void *);
typedef int (*free_fn)(uint64_t, void *);
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
static double turn(alloc_fn alloc, free_fn release, size_t size, int rounds)
{
    uint64_t pointers[16];
    double start = now();
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 16; k++) if (alloc(&pointers[k], size, 0)) exit(2);
        for (int k = 0; k < 16; k++) if (release(pointers[k], 0)) exit(3);
    }
    return (now() - start) / rounds / 16;
}
int main(int argc, char **argv)
{
    static const char *const driver[] = {"libcuda.so", NULL};
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int turns = atoi(argv[3]);
    (void)argc;
    if (!cuda || ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0)) return 1;
    ((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
    ((int (*)(void *))dlsym(cuda, "cuCtxSetCurrent"))(context);
    const char *a = argv[1][0] == 'a' ? "cuMemAllocAsync" : "cuMemAlloc_v2", *f = argv[1][0] == 'a' ? "cuMemFreeAsync" : "cuMemFree_v2";
    alloc_fn allocs[] = {(alloc_fn)elf_find(driver, a), (alloc_fn)dlsym(cuda, a)};
    free_fn frees[] = {(free_fn)elf_find(driver, f), (free_fn)dlsym(cuda, f)};
    size_t size = (size_t)atoll(argv[2]);
    if (!allocs[0] || !frees[0] || allocs[0] == allocs[1]) return 4;
    int rounds = 1;
    while (turn(allocs[0], frees[0], size, rounds) * rounds * 16 < 0.01) rounds *= 2;
    for (int i = 0; i < turns; i++) {
        double took[2];
        for (int k = 0; k < 2; k++) { int which = (i + k) % 2; took[which] = turn(allocs[which], frees[which], size, rounds); }
        printf("%.3f %.3f\n", took[0] * 1e9, took[1] * 1e9);
    }
    return 0;
}
"""

STEP = r"""
import sys, time, torch
torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.ReLU()) for _ in range(8)]).cuda()
best = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(4096, 2048, device="cuda")
def step():
    best.zero_grad(); net(x).square().mean().backward(); best.step()
for _ in range(50): step()
torch.cuda.synchronize(); start = time.perf_counter()
for _ in range(300): step()
torch.cuda.synchronize(); print((time.perf_counter() - start) / 300)
"""


def paired(command, library, rounds, limit):
    """Alternating with and without: the median of the ratios, and the times."""
    ratios, plain_times, with_times = [], [], []
    for _ in range(rounds):
        held = ledgers.Ledger.new(limit)
        plain = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])
        loaded = float(subprocess.run(command, capture_output=True, text=True, check=True,
                                      env=held.environment(library)).stdout.split()[-1])
        assert held.table.attached == 1, "the library was not loaded"
        ratios.append(loaded / plain)
        plain_times.append(plain)
        with_times.append(loaded)
    return statistics.median(ratios), statistics.median(plain_times), statistics.median(with_times), ratios


def median_interval(values):
    """The median and its 95 % interval by ranks (binomial, normal approximation)."""
    ordered, n = sorted(values), len(values)
    far = int(1.96 * n ** 0.5 / 2) + 1
    return statistics.median(values), ordered[max(0, n // 2 - far)], ordered[min(n - 1, n // 2 + far)]


def cost_loop():
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        print("SKIP: no C compiler for the loop", flush=True)
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as folder:
        open(folder + "/loop.c", "w").write(BENCH)
        subprocess.run([compiler, "-O2", "-w", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "src"), folder + "/loop.c",
                        os.path.join(ROOT, "src", "gpu_memory", "preload", "elf_find.c"), "-o", folder + "/loop", "-ldl"], check=True)
        for kind, size in [("plain", 20 * MIB), ("plain", 2 * MIB), ("plain", 4096), ("async", 2 * MIB), ("async", 4096)]:
            for limit in (0, 8 * GIB):
                held = ledgers.Ledger.new(limit)
                done = subprocess.run([folder + "/loop", kind, str(size), "61"], capture_output=True, text=True, timeout=60,
                                      env=held.environment(library_path()))
                assert done.returncode == 0, "loop: %d %s" % (done.returncode, done.stderr)
                pairs = [tuple(map(float, line.split())) for line in done.stdout.split("\n") if line]
                middle, low, high = median_interval([b / a for a, b in pairs])
                text = "%s %s%s: %.0f ns an allocation and free without, %.0f ns with (+%.0f ns): %+.2f %% (%+.2f to %+.2f)" % (
                    kind, "%g MiB" % (size / MIB) if size >= MIB else "%d bytes" % size, ", limited" if limit else "",
                    statistics.median(a for a, b in pairs), statistics.median(b for a, b in pairs),
                    statistics.median(b - a for a, b in pairs), 100 * (middle - 1), 100 * (low - 1), 100 * (high - 1))
                if kind == "plain":
                    check(middle <= 1.05, "an allocation-heavy loop slows down by less than 5 %:", text)
                else:
                    say(text)


TORCH_LOOP = r"""
import time, torch
sizes = [1 << 20, 5 << 20, 100_000, 33 << 20, 4096, 700_000, 12 << 20, 2 << 20]
def turn():
    held = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in sizes]
    del held
for _ in range(5000): turn()
torch.cuda.synchronize()
best = 1e9
for _ in range(20):
    start = time.perf_counter()
    for _ in range(2000): turn()
    best = min(best, (time.perf_counter() - start) / 2000 / len(sizes))
torch.cuda.synchronize()
print(best)
"""


def cost_torch_loop():
    """Tensors made and dropped, and nothing else: every one of them is a call of the driver on this back end."""
    need("torch")
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
    ratio, plain, loaded, all_ratios = paired([sys.executable, "-c", TORCH_LOOP], library_path(), 5, 64 * GIB)
    check(ratio <= 1.05, "a PyTorch loop of nothing but tensors, on cudaMallocAsync, slows down by less than 5 %",
          "%.0f ns a tensor without, %.0f ns with: %+.2f %% (%s)" %
          (plain * 1e9, loaded * 1e9, 100 * (ratio - 1), " ".join("%.3f" % r for r in all_ratios)))


def cost_step():
    need("torch")
    ratio, plain, loaded, all_ratios = paired([sys.executable, "-c", STEP], library_path(), 9, 64 * GIB)
    say("a training step: %.4f ms without, %.4f ms with: %.5f (%s)" %
        (plain * 1e3, loaded * 1e3, ratio, " ".join("%.4f" % r for r in all_ratios)))
    check(ratio <= 1.002, "a training step slows down by less than 0.2 %", "%.3f %%" % (100 * (ratio - 1)))


# ---- how they are run ------------------------------------------------------------------------------------------------------------

LIMIT = 8 * GIB
TESTS = {  # name: limit (None: this process itself measures)
    "plain": 0, "kinds": 0, "virtual": 0, "async": 0, "streams": 0,
    "torch": 0, "torch_async": 0, "torch_expandable": 0, "jax": 0, "cupy": 0,
    "limit_plain": LIMIT, "limit_threads": LIMIT, "limit_children": LIMIT, "limit_fork": LIMIT,
    "limit_dead": LIMIT, "limit_files": LIMIT, "abis": LIMIT, "refused": 0,
    "limit_torch": LIMIT, "limit_torch_async": LIMIT, "limit_torch_expandable": LIMIT, "limit_jax": LIMIT, "limit_cupy": LIMIT,
    "cost_loop": None, "cost_torch_loop": None, "cost_step": None,
}


def library_path():
    if os.environ.get("LIB"):
        return os.path.abspath(os.environ["LIB"])
    built = os.path.join(ROOT, "build", "src", "gpu_memory", "preload", "libtare-cuda.so")
    if os.path.exists(built):
        return built
    out = os.path.join(tempfile.gettempdir(), "libtare-cuda-%d.so" % os.getuid())
    sources = sorted(glob.glob(os.path.join(ROOT, "src", "gpu_memory", "preload", "*.c")))
    subprocess.run(["cc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic",
                    "-I" + os.path.join(ROOT, "src"), "-o", out] + sources + ["-lpthread", "-ldl"], check=True)
    os.environ["LIB"] = out
    return out


def run(name):
    print("== %s" % name, flush=True)
    start = time.monotonic()
    if TESTS[name] is None:
        check.failed = 0
        try:
            globals()[name]()
        except SystemExit:
            return SKIP
        except Exception as error:  # noqa: BLE001
            print("FAIL: %s: %s: %s" % (name, type(error).__name__, error), flush=True)
            return 1
        return 1 if check.failed else 0
    held = ledgers.Ledger.new(TESTS[name])
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "work", name], env=held.environment(library_path()), timeout=240)
        code = done.returncode
    except subprocess.TimeoutExpired:
        print("FAIL: %s: took longer than 240 s" % name, flush=True)
        code = 1
    if code not in (0, SKIP):
        print("FAIL: %s: exit code %d" % (name, code), flush=True)
    elif code == 0 and held.table.attached == 0:
        print("FAIL: %s: no process attached to the table" % name, flush=True)
        code = 1
    say("%s took %.1f s; processes attached: %d" % (name, time.monotonic() - start, held.table.attached))
    return code


def main():
    words = sys.argv[1:] or ["all"]
    if words[0] == "work":
        globals()["work_" + words[1]]()
        return 1 if check.failed else 0
    if words[0] == "list":
        print("\n".join(TESTS))
        return 0
    names = list(TESTS) if words == ["all"] else words
    print("library:", library_path(), flush=True)
    results = {name: run(name) for name in names}
    failed = [name for name, code in results.items() if code not in (0, SKIP)]
    skipped = [name for name, code in results.items() if code == SKIP]
    print("%d passed, %d failed (%s), %d skipped (%s)" %
          (len(names) - len(failed) - len(skipped), len(failed), " ".join(failed), len(skipped), " ".join(skipped)))
    if len(names) == 1 and skipped:
        return SKIP
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
