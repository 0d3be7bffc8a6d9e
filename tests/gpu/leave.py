"""Ends at once, and leaves a process of a session of its own that ignores SIGTERM and holds GPU memory: leave.py GIB."""
import os
import signal
import sys
import time

ready, done = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    import torch
    held = torch.empty(int(float(sys.argv[1]) * 2**30), dtype=torch.uint8, device="cuda").fill_(1)
    torch.cuda.synchronize()
    os.write(done, b"x")
    while True:
        time.sleep(1)
os.read(ready, 1)
os.system("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0 | sed 's/^/used MiB while it lives: /'")
