#!/usr/bin/env python3
"""What tare memory is measured against: CPython reading the same snapshot, and a plain replay of its trace (best fit by bisection,
splitting, merging; nothing else) in Python. Prints "KEY VALUE" lines, seconds of processor time.

usage: memory_reference.py SNAPSHOT [read]     read: no replay
       memory_reference.py peak COMMAND...     the most that a command had in memory"""
import bisect
import pickle
import resource
import subprocess
import sys
import time

MIB = 1 << 20


def replay(events):
    free = {True: [], False: []}  # by small: sorted (size, address)
    blocks, where, reserved, peak, top = {}, {}, 0, 0, 1 << 46
    for event in events:
        action = event["action"]
        if action == "alloc":
            size = max(512, (event["size"] + 511) // 512 * 512)
            small = size <= MIB
            pool = free[small]
            at = bisect.bisect_left(pool, (size, 0))
            if at < len(pool):
                have, addr = pool.pop(at)
                before, after = blocks[addr][1:3]
            else:
                have = 2 * MIB if small else 20 * MIB if size < 10 * MIB else (size + 2 * MIB - 1) // (2 * MIB) * 2 * MIB
                top -= (have + 32 * MIB - 1) // (32 * MIB) * 32 * MIB
                addr, before, after = top, None, None
                reserved += have
                peak = max(peak, reserved)
            rest = have - size
            if rest >= 512 if small else rest > MIB:
                behind = addr + size
                blocks[behind] = [rest, addr, after, False, small]
                if after is not None:
                    blocks[after][1] = behind
                bisect.insort(pool, (rest, behind))
                have, after = size, behind
            blocks[addr] = [have, before, after, True, small]
            where[event["addr"]] = addr
        elif action == "free_completed":
            addr = where.pop(event["addr"])
            size, before, after, _, small = blocks[addr]
            pool = free[small]
            if before is not None and not blocks[before][3]:
                other = blocks[before]
                del pool[bisect.bisect_left(pool, (other[0], before))]
                del blocks[addr]
                addr, size, before = before, size + other[0], other[1]
            if after is not None and not blocks[after][3]:
                other = blocks.pop(after)
                del pool[bisect.bisect_left(pool, (other[0], after))]
                size, after = size + other[0], other[2]
            if after is not None:
                blocks[after][1] = addr
            blocks[addr] = [size, before, after, False, small]
            bisect.insort(pool, (size, addr))
    return peak


def peak_kib(command):
    """The most that the command had in memory, which must end well."""
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def main():
    if sys.argv[1] == "peak":
        print(f"peak_bytes {peak_kib(sys.argv[2:]) * 1024}")
        return
    began = time.process_time()
    with open(sys.argv[1], "rb") as file:
        snapshot = pickle.load(file)
    read = time.process_time() - began
    events = snapshot["device_traces"][0]
    if "read" in sys.argv[2:]:
        print(f"events {len(events)}\nread_seconds {read:.4f}")
        return
    began = time.process_time()
    peak = replay(events)
    print(f"events {len(events)}\nread_seconds {read:.4f}\nreplay_seconds {time.process_time() - began:.4f}\npeak_reserved {peak}")


if __name__ == "__main__":
    main()
