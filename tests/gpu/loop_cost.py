"""tare's meter against the usual loop of nvidia-smi, at the same time on the same GPU: loop_cost.py TARE BENCH_METER SECONDS.
Exit 1: less than 100 times less CPU a sample, or less than 10 times the rate."""
import os
import resource
import subprocess
import sys
import time

tare, bench, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
here = os.path.dirname(os.path.abspath(__file__))
meter = subprocess.Popen([bench, tare, "", "0", str(seconds)], stdout=subprocess.PIPE, text=True)
before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
subprocess.run(["bash", here + "/study_loop.sh", "loop.csv", str(seconds)], check=True)
after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
told = dict(line.split() for line in meter.communicate()[0].splitlines())
assert meter.returncode == 0, meter.returncode
lines = [line.split(",") for line in open("loop.csv")]
assert len(lines) == seconds and all(float(watts) > 0 for _, watts in lines), lines
# Of the loop, and of nothing else: the meter was not waited for before.
loop_us = (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e6 / seconds
samples = float(told["samples"])
meter_us = float(told["cpu_us"]) / samples
both_us = (float(told["cpu_us"]) + float(told["client_cpu_us"])) / samples
rate, loop_rate = samples / float(told["seconds"]), seconds / (ended - began)
print(f"loop: {loop_us / 1000:.2f} ms of CPU a sample, {loop_rate:.2f} samples a second")
print(f"meter: {meter_us / 1000:.3f} ms a sample, with the runner's side {both_us / 1000:.3f} ms, {rate:.1f} samples a second")
print(f"{loop_us / both_us:.0f} times less CPU a sample (aim: 100) at {rate / loop_rate:.0f} times the rate (aim: 10); "
      f"in a second {float(told['cpu_us']) / float(told['seconds']) / 1000:.1f} ms against {loop_us * loop_rate / 1000:.1f} ms")
sys.exit(loop_us / both_us < 100 or rate / loop_rate < 10)
