"""The table of libtare-cuda.so (src/base/gpu_ledger.h), made and read as the runner does it; NVML's figure for this process."""
import ctypes as c
import fcntl
import mmap
import os

GPUS, PROCESSES = 16, 256
F_ADD_SEALS, SEALS = 1033, 2 | 4 | 1  # shrink, grow, seal


def figures(*names):
    return [(name, c.c_uint64) for name in names]


def padding(size):
    return [("padding", c.c_uint8 * size)]


class Gpu(c.Structure):
    _fields_ = (figures("limit", "live", "live_peak", "held", "held_peak", "context", "footprint_peak", "reserved") +
                [("state", c.c_uint32), ("how", c.c_uint32), ("uuid", c.c_uint8 * 16)] +
                figures("total", "over", "refused", "refused_least", "refused_most", "driver_refused", "driver_refused_most") +
                padding(48))


class Use(c.Structure):
    _fields_ = figures("live", "live_peak", "held", "held_peak", "context", "reserved", "allocations", "frees")


class Process(c.Structure):
    _fields_ = ([("state", c.c_uint32), ("pid", c.c_int32)] + figures("namespace", "since") + [("command", c.c_char * 16)] +
                padding(24) + [("gpus", Use * GPUS), ("refused", c.c_uint64 * GPUS)])


class Table(c.Structure):
    _fields_ = ([("magic", c.c_uint64), ("version", c.c_uint32), ("size", c.c_uint32), ("nonce", c.c_char * 32)] +
                figures("limit", "share", "assumed", "attached", "unplaced") + padding(40) +
                [("gpus", Gpu * GPUS), ("processes", Process * PROCESSES)])


class Ledger:
    def __init__(self, fd):
        self.fd = fd
        self.map = mmap.mmap(fd, c.sizeof(Table))
        self.table = Table.from_buffer(self.map)

    @classmethod
    def new(cls, limit=0, share=0.0):
        fd = os.memfd_create("tare-gpu-memory", 2)
        os.ftruncate(fd, c.sizeof(Table))
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
        self = cls(fd)
        table = self.table
        table.magic, table.version, table.size = 0x72656764656c7467, 2, c.sizeof(Table)
        table.nonce = b"0123456789abcdef" * 2
        table.limit, table.share, table.assumed = int(limit), int(share * 10000), 512 << 20
        return self

    @classmethod
    def mine(cls):
        """In a process that was started with environment()."""
        path = os.environ["TARE_GPU_LEDGER"].split(" ")[1]
        return cls(os.open(path, os.O_RDWR))

    def environment(self, library, **more):
        out = dict(os.environ, LD_PRELOAD=library,
                   TARE_GPU_LEDGER="0123456789abcdef" * 2 + " /proc/%d/fd/%d" % (os.getpid(), self.fd))
        out.update(more)
        return out

    @property
    def gpu(self):
        return self.table.gpus[0]

    def own(self):
        return [p for p in self.table.processes if p.state == 2 and p.pid == os.getpid()][0].gpus[0]


class NvmlProcess(c.Structure):
    _fields_ = [("pid", c.c_uint), ("used", c.c_ulonglong), ("gi", c.c_uint), ("ci", c.c_uint)]


class NvmlMemory(c.Structure):
    _fields_ = [("total", c.c_ulonglong), ("free", c.c_ulonglong), ("used", c.c_ulonglong)]


class Nvml:
    """Per process where the driver lists them by our numbers; else (in some containers) the whole GPU's use since the start."""

    def __init__(self):
        self.library = c.CDLL("libnvidia-ml.so.1")
        self.library.nvmlInit_v2()
        self.device = c.c_void_p()
        self.library.nvmlDeviceGetHandleByIndex_v2(int(os.environ.get("GPU_INDEX", "0")), c.byref(self.device))
        self.before = self.used()

    def used(self):
        memory = NvmlMemory()
        assert self.library.nvmlDeviceGetMemoryInfo(self.device, c.byref(memory)) == 0
        return memory.used

    def processes(self):
        count = c.c_uint(64)
        rows = (NvmlProcess * 64)()
        result = self.library.nvmlDeviceGetComputeRunningProcesses_v3(self.device, c.byref(count), rows)
        assert result == 0, "nvmlDeviceGetComputeRunningProcesses: %d" % result
        return {rows[i].pid: rows[i].used for i in range(count.value)}

    def of(self, pids):
        rows = self.processes()
        if not any(pid in rows for pid in pids) and rows and os.environ.get("NVML_HOST_PIDS"):
            return self.used() - self.before
        return sum(rows.get(pid) or 0 for pid in pids)

    def own(self):
        rows = self.processes()
        if os.getpid() in rows:
            return rows[os.getpid()]
        if not hasattr(self, "said"):
            self.said = True
            print("# NVML does not list process %d (it lists %s): the whole GPU's use is taken" % (os.getpid(), sorted(rows)), flush=True)
        return self.used()
