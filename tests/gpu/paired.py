"""Whether reading the GPU slows a training down: paired.py TARE [SECONDS [BLOCK_SECONDS]] (default 88 and 1).
One training runs on; in blocks it is measured (B) and not measured (A) in turn, as ABBA or BAAB, drawn at random. Measuring is what
a run does: a tick of the meter process once a second. Prints the mean change of the step's time with its 95 % interval.
Exit 0: the interval lies below +0.2 %; 1: above it; 77: the machine's noise leaves it open."""
import os
import random
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

LIMIT = 0.002
TICK = 2


def serve(tare, orders, answers):
    """The runner's part, in a process of its own: while it is told 1, a tick a second, the first somewhere in it."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    meter = subprocess.Popen([tare, "meter", "--device", "0", "--fd", str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    hello = mine.recv(1 << 16)
    version, _, _, status = struct.unpack_from("=IIQI", hello)
    assert status == 0, hello
    os.write(answers, b"r")
    ticks, due = 0, None
    while True:
        wait = None if due is None else max(0, due - time.monotonic())
        if select.select([orders], [], [], wait)[0]:
            word = os.read(orders, 1)
            if word not in (b"0", b"1"):
                break
            due = time.monotonic() + random.uniform(0.05, 0.8) if word == b"1" else None
        elif due is not None:
            ticks += 1
            mine.send(struct.pack("=IIQ", version, TICK, ticks))
            answer = struct.unpack_from("=IIQI", mine.recv(1 << 16))
            assert answer[1:] == (TICK, ticks, 0), answer
            due += 1
    meter.kill()
    os.write(answers, struct.pack("=I", ticks))


def quantile(freedom):
    """Student's t, 97.5 %: Cornish and Fisher's expansion, good to 0.2 % from 4 degrees of freedom on."""
    z = 1.959964
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2) \
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)


def main():
    tare = sys.argv[1]
    seconds, block = (float(word) for word in (sys.argv[2:] + ["88", "1"][len(sys.argv) - 2:])[:2])
    orders, answers = os.pipe(), os.pipe()
    if os.fork() == 0: # before there is a CUDA context
        os.close(orders[1])
        serve(tare, orders[0], answers[1])
        os._exit(0)
    os.close(answers[1])
    assert os.read(answers[0], 1) == b"r", "the meter does not begin"

    import torch
    torch.manual_seed(1)
    # Below the power limit, where clocks would swing by more than is looked for; and as a CUDA graph, so that the interpreter's own
    # unevenness is not in it.
    layers = [torch.nn.Linear(1024, 1024) for _ in range(4)]
    model = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.ReLU()))).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad(set_to_none=False)
        model(data).square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def steps(number):
        for _ in range(number):
            graph.replay()
        torch.cuda.synchronize()

    def step_ms(measured):
        os.write(orders[1], b"1" if measured else b"0")
        count, start = 0, time.perf_counter()
        while time.perf_counter() < start + block:
            steps(50)
            count += 50
        return 1000 * (time.perf_counter() - start) / count

    until = time.monotonic() + 5
    while time.monotonic() < until:
        steps(50)
    changes, plain, until = [], [], time.monotonic() + seconds
    while time.monotonic() < until:
        order = random.choice(((0, 1, 1, 0), (1, 0, 0, 1)))
        times = [step_ms(measured) for measured in order]
        with_meter = sum(t for t, measured in zip(times, order) if measured)
        without = sum(t for t, measured in zip(times, order) if not measured)
        changes.append(with_meter / without - 1)
        plain.append(without / 2)
    os.write(orders[1], b"e")
    ticks = struct.unpack("=I", os.read(answers[0], 4))[0]
    mean, error = statistics.mean(changes), statistics.stdev(changes) / len(changes)**0.5
    half = quantile(len(changes) - 1) * error
    print(f"step of {statistics.mean(plain):.3f} ms; {len(changes)} quadruples of blocks of {block:g} s, {ticks} ticks of the meter")
    print(f"change of the step's time while it is measured: {100 * mean:+.3f} %, 95 % interval {100 * (mean - half):+.3f} to "
          f"{100 * (mean + half):+.3f} % (median {100 * statistics.median(changes):+.3f} %; aim: below +{100 * LIMIT} %)")
    assert ticks >= 2 * len(changes) * block * 0.5, "the meter was not asked"
    if mean + half < LIMIT:
        return 0
    return 1 if mean - half > LIMIT else 77


sys.exit(main())
