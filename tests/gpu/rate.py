"""The counter's rate as doctor says it against the same watched here: rate.py PAGE (doctor --json)."""
import json
import statistics
import sys

from driver import at_update

checks = [c for c in json.load(open(sys.argv[1]))["checks"] if c["section"] == "Sensors"]
told = [c["data"] for c in checks if c["name"] == "gpu energy"][0]
times = [at_update()[1] for _ in range(21)]
own = 1000 * statistics.median(b - a for a, b in zip(times, times[1:]))
for check in checks:
    print(f"doctor: {check['text']}" + (f" [{check['reason']}]" if check["reason"] else ""))
print(f"doctor: every {told['counter_update_ms']:.1f} ms at {told['counter_cost_ms']:.2f} ms a reading; watched here: every {own:.1f} ms")
sys.exit(abs(told["counter_update_ms"] - own) > 0.2 * own)
