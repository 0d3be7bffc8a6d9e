"""Trainings that run out of GPU memory, each in its own way: hungry.py leak|pieces|large, or "hold GIB SECONDS", which does not."""
import sys
import time

import torch

GIB = 1 << 30


def take(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda").fill_(1)


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        torch.mm(a, a, out=b)
        torch.cuda.synchronize()


def leak():
    """Every epoch keeps an eighth of the GPU more: the sum of losses that was never detached."""
    kept = []
    for epoch in range(1, 30):
        print("epoch", epoch, flush=True)
        work(1.5)
        kept.append(take(torch.cuda.get_device_properties(0).total_memory // 12))
        work(1.5)


def pieces():
    """Under a cap of 12 GiB, one block of 100 MiB left in each of ten segments of 1 GiB; then 4 GiB in one piece."""
    torch.cuda.set_per_process_memory_fraction(12 * GIB / torch.cuda.get_device_properties(0).total_memory)
    print("epoch 1", flush=True)
    segments = [take(GIB) for _ in range(10)]
    del segments
    parts = [take(100 << 20) for _ in range(100)]
    kept = parts[::10]
    del parts
    work(2)
    take(4 * GIB)
    print("epoch 2", flush=True)
    work(2)


def large():
    print("epoch 1", flush=True)
    take(2 * torch.cuda.get_device_properties(0).total_memory)


a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
b = torch.empty_like(a)
if sys.argv[1] == "hold":
    held = take(int(float(sys.argv[2]) * GIB))
    print("holding", flush=True)
    time.sleep(float(sys.argv[3]))
else:
    {"leak": leak, "pieces": pieces, "large": large}[sys.argv[1]]()
