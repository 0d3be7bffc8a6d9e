#!/usr/bin/env python3
"""What watching costs a training: its step time beside `tare serve` with viewers, in pairs of blocks, against the
same training without them. usage: serve_cost.py TARE FOLDER [--seconds 120] [--viewers 50] [--block 5] [--cpu]
Prints a line of JSON: the ratio of the blocks' median step times (1: it costs nothing; trimmed mean), its 95 % interval over the pairs, and
what the viewers saw. Ends with 1 where the interval's upper end is above 1.002, or where the viewers saw too little to have cost anything."""
import argparse
import bisect
import json
import math
import os
import random
import re
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

TRAIN = '''
import argparse, struct, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
parser.parse_args()
end = time.monotonic() + %(seconds)g
out = open(%(steps)r, "wb")
if %(cpu)r:
    def step():
        return sum(i * i for i in range(20000))
else:
    import torch
    a = torch.randn(4096, 4096, device="cuda")
    def step():
        global a
        for _ in range(4):
            a = torch.tanh(a @ a)
        torch.cuda.synchronize()
for _ in range(20):
    step()
said = 0.0
while (now := time.monotonic()) < end:
    step()
    out.write(struct.pack("d", time.monotonic()))
    if now - said > 1:
        said = now
        print(f"loss: {1 / (1 + now %% 10):.4f}", flush=True)
out.close()
print("loss: 0.1")
'''


class Viewer(threading.Thread):
    """Reads the stream of a run until it is stopped."""

    def __init__(self, port, token, run):
        super().__init__(daemon=True)
        self.port, self.token, self.run_name, self.bytes, self.stopped = port, token, run, 0, False

    def run(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(f"GET /run/{self.run_name}/events?token={self.token} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            connection.settimeout(0.5)
            while not self.stopped:
                try:
                    data = connection.recv(1 << 16)
                except socket.timeout:
                    continue
                if not data:
                    return
                self.bytes += len(data)


def watched_block(tare, results, run, viewers, seconds):
    """Serves, is watched, and gives when that was and what was seen of it."""
    server = subprocess.Popen([tare, "serve", results, "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)\n", server.stdout.readline()).groups()
        threads = [Viewer(int(port), token, run) for _ in range(viewers)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        begin = time.monotonic()
        time.sleep(seconds)
        end = time.monotonic()
        for thread in threads:
            thread.stopped = True
        for thread in threads:
            thread.join(timeout=10)
        return begin, end, min(thread.bytes for thread in threads)
    finally:
        server.terminate()
        server.wait(timeout=10)


def median_step(times, begin, end):
    inside = times[bisect.bisect_left(times, begin):bisect.bisect_right(times, end)]
    steps = [b - a for a, b in zip(inside, inside[1:])]
    return statistics.median(steps) if len(steps) > 20 else math.nan


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tare")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--block", type=float, default=5)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    arguments.tare = os.path.abspath(arguments.tare)
    os.makedirs(arguments.folder)
    os.chdir(arguments.folder)
    steps = os.path.abspath("steps")
    with open("train.py", "w", encoding="utf-8") as file:
        file.write(TRAIN % {"seconds": arguments.seconds, "steps": steps, "cpu": arguments.cpu})
    training = subprocess.Popen([arguments.tare, "run", "-o", "results", "train.py", "--seed", "1"], stdin=subprocess.DEVNULL,
                                stdout=open("said", "w", encoding="utf-8"), stderr=subprocess.STDOUT)
    while not (os.path.exists(steps) and os.path.getsize(steps)):
        assert training.poll() is None, open("said", encoding="utf-8").read()
        time.sleep(0.2)
    time.sleep(2)
    run, = os.listdir("results")
    end = time.monotonic() + arguments.seconds - 6
    pairs, least = [], math.inf
    while time.monotonic() + 2 * arguments.block + 4 < end:
        quiet = watched = None
        for kind in random.sample(("quiet", "watched"), 2):
            if kind == "quiet":
                begin = time.monotonic()
                time.sleep(arguments.block)
                quiet = begin, time.monotonic()
            else:
                *watched, bytes_seen = watched_block(arguments.tare, "results", run, arguments.viewers, arguments.block)
                least = min(least, bytes_seen)
        pairs.append((quiet, watched))
    training.wait(timeout=arguments.seconds + 120)
    data = open(steps, "rb").read()
    times = [value for value, in struct.iter_unpack("d", data[:len(data) // 8 * 8])]
    ratios = [median_step(times, *watched) / median_step(times, *quiet) for quiet, watched in pairs]
    ratios = [ratio for ratio in ratios if math.isfinite(ratio)]
    if len(ratios) < 3:
        sys.exit(f"only {len(ratios)} pairs of blocks have enough steps: --seconds must be longer")
    from scipy import stats  # the quantile of t alone
    # A block in which the machine did something else tells nothing of serve: a fifth of the pairs at each end is left out (trimmed mean, with
    # its t interval: Tukey and McLaughlin, Sankhya A 25, 1963).
    ratios.sort()
    cut = len(ratios) // 5
    kept = ratios[cut:len(ratios) - cut]
    winsorized = [min(max(ratio, kept[0]), kept[-1]) for ratio in ratios]
    mean = statistics.mean(kept)
    half = float(stats.t.ppf(0.975, len(kept) - 1)) * statistics.stdev(winsorized) / ((1 - 2 * cut / len(ratios)) * math.sqrt(len(ratios)))
    print(json.dumps({"ratio": mean, "low": mean - half, "high": mean + half, "median": statistics.median(ratios), "least": ratios[0],
                      "largest": ratios[-1], "pairs": len(ratios), "steps": len(times), "step_s": statistics.median(b - a for a, b in zip(times, times[1:])),
                      "viewers": arguments.viewers, "least_bytes_of_a_viewer": least}))
    sys.exit(0 if mean + half < 1.002 and least > 500 else 1)


main()
