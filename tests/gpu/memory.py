"""The memory of the meter process of GPU 0 while it measures: memory.py TARE. By the kernel's own accounts: resident (Rss), with
shared pages by their share (Pss), of its own alone (Private_Clean and Private_Dirty), and which mappings take most."""
import os
import signal
import subprocess
import sys
import time

AIM_KIB = 8192


def meter_of(pid):
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        if open(f"/proc/{child}/comm").read().strip() == "tare-meter":
            return child
    return None


def rows_of(path):
    """The figures of the file's mappings, each with its name."""
    found = []
    for line in open(path):
        words = line.split()
        if not words[0].endswith(":"):
            found.append({"name": words[5] if len(words) > 5 else "[anonymous]", "rights": words[1]})
        elif words[-1] == "kB":
            found[-1][words[0][:-1]] = int(words[1])
    return found


program = subprocess.Popen([sys.argv[1], "measure", "--gpus", "0", "--json"], stdout=subprocess.DEVNULL)
until = time.monotonic() + 60
while meter_of(program.pid) is None and time.monotonic() < until:
    time.sleep(0.1)
meter = meter_of(program.pid)
assert meter, "there is no meter"
time.sleep(25) # so that it has given back what it needed to begin, and each order has come many times
total = rows_of(f"/proc/{meter}/smaps_rollup")[0]
mappings = rows_of(f"/proc/{meter}/smaps")
peak = [int(line.split()[1]) for line in open(f"/proc/{meter}/status") if line.startswith("VmHWM:")][0]
program.send_signal(signal.SIGINT)
program.wait()
print(f"Rss {total['Rss']} KiB, Pss {total['Pss']} KiB, Private_Clean {total['Private_Clean']} KiB, "
      f"Private_Dirty {total['Private_Dirty']} KiB, Anonymous {total['Anonymous']} KiB; at most ever {peak} KiB")
for row in sorted(mappings, key=lambda row: -row["Rss"])[:12]:
    print(f"  {row['rights']} Rss {row['Rss']:6d} Pss {row['Pss']:6d} Private_Dirty {row['Private_Dirty']:6d}  "
          + os.path.basename(row["name"]))
print(f"aim: under {AIM_KIB} KiB resident: {'met' if total['Rss'] < AIM_KIB else 'MISSED'}")
sys.exit(total["Rss"] > peak or total["Rss"] <= 0)
