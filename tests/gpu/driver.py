"""What the tests read of NVIDIA's library themselves, apart from tare: GPU 0."""
import ctypes
import time

library = ctypes.CDLL("libnvidia-ml.so.1")
device = ctypes.c_void_p()
if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) != 0:
    raise SystemExit("NVIDIA's library does not begin")


class Sample(ctypes.Structure):
    _fields_ = [("time_us", ctypes.c_ulonglong), ("milliwatts", ctypes.c_uint), ("rest", ctypes.c_uint)]


def counter_j():
    energy = ctypes.c_ulonglong()
    assert library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy)) == 0
    return energy.value / 1000


def at_update():
    """Waits for the counter's next update: joules, and when that was by time.monotonic()."""
    first = counter_j()
    while True:
        before = time.monotonic()
        value = counter_j()
        if value != first:
            return value, (before + time.monotonic()) / 2


def power_samples(since_us=0):
    """The driver's buffer of power samples: (time in microseconds of the wall clock, watts)."""
    samples, count, kind = (Sample * 1024)(), ctypes.c_uint(1024), ctypes.c_uint()
    result = library.nvmlDeviceGetSamples(device, 0, ctypes.c_ulonglong(since_us), ctypes.byref(kind),
                                          ctypes.byref(count), samples)
    if result == 6: # nothing new
        return []
    assert result == 0 and kind.value == 1, (result, kind.value)
    return [(sample.time_us, sample.milliwatts / 1000) for sample in samples[:count.value]]
