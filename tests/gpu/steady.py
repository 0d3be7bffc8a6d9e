"""Loads the GPU evenly: steady.py SECONDS EPOCH_SECONDS. Prints "epoch N" at the beginning of each, and at the end what the
driver's own energy counter says of most of that time: "counter JOULES SECONDS BEGIN END", both from one update of it to another
(BEGIN and END by CLOCK_MONOTONIC)."""
import sys
import time

import torch

from driver import at_update


def work():
    for _ in range(5):
        torch.mm(a, b, out=c)
    torch.cuda.synchronize()


a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b, c = torch.randn_like(a), torch.empty_like(a)
end = time.monotonic() + 3
while time.monotonic() < end:
    work()
start = time.monotonic()
seconds, every = float(sys.argv[1]), float(sys.argv[2])
begin, epoch, steps = None, 0, 0
while time.monotonic() < start + seconds:
    if time.monotonic() >= start + epoch * every:
        epoch += 1
        print("epoch", epoch, flush=True)
        if epoch == 2:
            begin = at_update()
    work()
    steps += 5
finish = at_update()
print(f"counter {finish[0] - begin[0]:.3f} {finish[1] - begin[1]:.6f} {begin[1]:.6f} {finish[1]:.6f}")
print(f"steps per second: {steps / (time.monotonic() - start):.3f}")
