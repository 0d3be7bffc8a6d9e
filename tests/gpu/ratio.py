"""What cooldown.py printed, as ratios with 95 % intervals (bootstrap of 10,000, seeded): ratio.py FILE..."""
import random
import statistics
import sys

rows = [line.split() for name in sys.argv[1:] for line in open(name) if line.startswith(("fixed", "adaptive"))]
of = {mode: [[float(x) for x in row[1:5]] for row in rows if row[0] == mode] for mode in ("fixed", "adaptive")}
cv = lambda values: statistics.stdev(values) / statistics.mean(values)
random.seed(7)


def interval(figure, column):
    values = {mode: [row[column] for row in of[mode]] for mode in of}
    draws = sorted(figure(random.choices(values["adaptive"], k=len(values["adaptive"])), random.choices(values["fixed"], k=len(values["fixed"])))
                   for _ in range(10000))
    return figure(values["adaptive"], values["fixed"]), draws[249], draws[9749]


for mode in of:
    joules, seconds, pause, celsius = ([row[i] for row in of[mode]] for i in range(4))
    print(f"{mode}: n {len(joules)}, energy {statistics.mean(joules):.1f} J (CV {100 * cv(joules):.3f} %), {statistics.mean(seconds):.2f} s, "
          f"pause {statistics.mean(pause):.1f} s, start at {statistics.mean(celsius):.1f} C")
print("verdicts:", {(row[0], row[5]): sum(r[0] == row[0] and r[5] == row[5] for r in rows) for row in rows})
print("energy, adaptive : fixed = %.5f, 95 %% interval %.5f to %.5f" % interval(lambda a, f: statistics.mean(a) / statistics.mean(f), 0))
print("CV, adaptive : fixed = %.3f, 95 %% interval %.3f to %.3f" % interval(lambda a, f: cv(a) / cv(f), 0))
