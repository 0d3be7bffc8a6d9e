#!/usr/bin/env python3
"""Results folders in the study's layout whose truth is known.

  folders.py SCENARIO SEED DIR    writes DIR/results/ and DIR/truth.json
  folders.py --list               names the scenarios

Held against the study's two real folders by `compare.py shared/data/legacy/run_*` (10 % / median / 90 % of each
quantity, the generated column over 150 clean folders of the scenarios that are not held out):

                                 run_20251115_165340    run_20251118_155526    generated
  seconds sampled (%)            88.2 / 96.8 / 100      81.2 / 94.3 / 100      77.4 / 93.1 / 97.2
  steps of 2 s (%)               0 / 3.34 / 15.6        0 / 6.11 / 23          2.82 / 7.32 / 25.9
  duration - perf (s)            1.28 / 1.31 / 1.41     1.28 / 1.29 / 1.4      1.22 / 1.3 / 1.38
  duration - trace (s)           0.946 / 1.57 / 2.44    1.45 / 1.73 / 2.24     1.23 / 1.89 / 2.61
  pause (s)                      90 / 90 / 90.1         60 / 90 / 90.1         30 / 65 / 120
  lowest power (W)               4.77 / 82.4 / 287      4.52 / 25.6 / 240      9.48 / 38.1 / 149
  quiet power, median / lowest   1.04 / 5.18 / 14.6     1.01 / 1.21 / 14.7     1.01 / 1.22 / 2.41
  samples before load            0 / 2 / 9.8            0 / 6.5 / 41.2         0 / 7 / 27
  first utilisation (%)          0 / 25.5 / 98.5        0 / 0 / 96.9           0 / 0 / 74
  first sample / highest power   0.02 / 0.852 / 1       0.216 / 0.391 / 0.989  0.075 / 0.411 / 0.979
  step noise under load (%)      0.12 / 0.932 / 3.56    0.082 / 0.579 / 1.92   0.159 / 0.955 / 4.53
  step noise at rest (%)         0.251 / 3.01 / 6.43    0.249 / 2.94 / 7.42    0.376 / 2.01 / 5.19
  drift of loaded power (%)      -49.3 / -14.7 / 12.7   -22 / 3.86 / 16.3      -7.46 / 3.79 / 34.6
  package power (W)              35.4 / 41.5 / 44       29.4 / 36.7 / 45       36 / 64.1 / 115
  RAM / package energy           0.060 / 0.069 / 0.075  0.050 / 0.070 / 0.080  0.024 / 0.060 / 0.129
  time spread of repetitions (%) no repetitions         no repetitions         1.18 / 2.66 / 5.58

The real folders are one machine (one GPU that rests at 4 to 5 W, wakes at 70 to 95 W, caps at 320 W), the generated
ones many: levels, package power and pauses spread more widely on purpose. Taken over to the byte: file names, columns
and their order, CRLF in summary.csv only, perf's thousands separators, whole-second stamps of the first sample at the
floor of the beginning, a duration that ends 1.3 s after perf's, local time in the records and UTC in the traces. Seen
in the real folders and modelled: clocks up without a context before one with it (70 and 78 W), a preparing process
that ends and lets the GPU fall to rest inside a training, an evaluation by a process of its own at the end, a power
reading that needs two to four samples to fall, load that draws 10 to 15 % more while the GPU heats up, a sampler held
up by trainings that fill the processors (34 % of the seconds sampled), failed attempts that lengthen the pause before
a record.
"""
import argparse
import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from fourth_set import SCENARIOS
from layout import record_of, render, write_folder
from study import Spec, effects, simulate, stream

AFTERMATH = 0.01       # an effect on an experiment beside which nothing planted ran: heat or clocks left by it


def generate(scenario, seed, folder, extra=0, shift_s=0, is_undisturbed=False, scatter=None):
    """Writes the folder and gives its truth.  `extra` more undisturbed experiments at the end, all `shift_s` later.

    `is_undisturbed`: the same folder as if nothing had been planted, but for errors in the data.
    `scatter`: the standard deviation of the energies of repeats, as a share, instead of the scenario's own noise."""
    plan = SCENARIOS[scenario](stream(scenario, seed))
    if scatter:
        part = scatter / math.sqrt(2)
        plan.noise = replace(plan.noise, time_sd=part, power_sd=part, processors_sd=part)
    planned = len(plan.specs)
    plan.specs += [more_of(plan, n, stream(scenario, seed, "extra", n)) for n in range(extra)]
    plan.epoch_s += shift_s
    plan = plan.undisturbed() if is_undisturbed else plan
    name = f"{scenario}/{seed}"
    runs = simulate(plan, name)
    references = simulate(plan.undisturbed(), name) if plan.has_disturbance else runs
    zone_s, records = plan.host.zone_s, []
    for k, (spec, run, reference) in enumerate(zip(plan.specs, runs, references)):
        zone_s += plan.zone_changes.get(k, 0)
        rng = stream(name, spec.key, "record")
        record = record_of(spec, k + 1, run, zone_s, plan.gpu.memory_sensor, rng, truth_of(spec, run, reference))
        if plan.clock_steps.get(k, (0, None))[1] == "inside":
            for what in ("summary.csv:duration_seconds", "energy/gpu_power.csv"):
                record.add_error(what)
        records.append(record)
    damage(plan, records[:planned], "values", stream(name, "damage"))
    tell_kinds(plan, runs, records)
    for record in records:
        render(record)
    damage(plan, records[:planned], "files", stream(name, "damage", "files"))
    folder = Path(folder)
    shutil.rmtree(folder / "results", ignore_errors=True)
    write_folder(records, folder / "results")
    truth = by_id(records)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    return truth


def tell_kinds(plan, runs, records):
    """Adds to each truth how far repeats scatter, and how many undisturbed others it can be compared with: one less for
    each hyperparameter that varies among them."""
    kinds = {}
    for spec, record in zip(plan.specs, records):
        background = spec.background
        key = (spec.model.repository, spec.model.name, background and (background.model.name, repr(sorted(background.hyper.items()))))
        kinds.setdefault(key, []).append((spec, record))
    noise = plan.noise
    scatter = round(math.hypot(noise.time_sd, max(noise.power_sd, noise.processors_sd)), 5)
    for members in kinds.values():
        usable = [(spec, record) for spec, record in members
                  if spec.outcome == "trained" and not record.truth["disturbed_by"]]
        names = {name for spec, _ in usable for name in spec.hyper}
        varied = sum(len({repr(spec.hyper.get(name)) for spec, _ in usable}) > 1 for name in names)
        for spec, record in members:
            others = sum(other is not record for _, other in usable)
            record.truth["siblings"] = max(0, others - varied)
            record.truth["scatter"] = scatter
            record.truth["all_parallel"] = all(spec.background for spec in plan.specs)


def more_of(plan, number, rng):
    """One more training of a model of the plan that is trained without anything planted."""
    candidates = [spec for spec in plan.specs if spec.outcome == "trained"
                  and not (spec.background and spec.background.defect)] or plan.specs
    spec = rng.choice(candidates)
    return Spec(f"extra{number}", spec.model, dict(spec.hyper), spec.background)


def damage(plan, records, stage, rng):
    for planned_stage, fault in plan.faults:
        if planned_stage == stage:
            fault(records, rng)


def truth_of(spec, run, reference):
    time, gpu, cpu = effects(run, reference) if spec.outcome != "failed" else (0.0, 0.0, 0.0)
    if not run.planted and max(map(abs, (time, gpu, cpu))) < AFTERMATH:
        time = gpu = cpu = 0.0
    by = ", ".join(sorted(run.planted)) or ("the aftermath of what was planted before" if time or gpu or cpu else None)
    return {"time_disturbed": round(time, 5), "energy_disturbed": round(max(gpu, cpu, key=abs), 5),
            "gpu_energy_disturbed": round(gpu, 5), "cpu_energy_disturbed": round(cpu, 5), "disturbed_by": by,
            "gpu_energy_recorded": round(sum(sample[1] for sample in run.samples) / run.gpu_j - 1, 4),
            "data_errors": [], "metric_wrong": False, "failed": spec.outcome == "failed",
            "background_planned": spec.background is not None,
            "background_present_share": round(run.background_s / run.seconds, 3) if spec.background else 0.0}


def by_id(records):
    """Two rows with one id share the worse of their truths."""
    truth = {}
    for record in records:
        known = truth.get(record.id)
        if not known or abs(record.truth["time_disturbed"]) > abs(known["time_disturbed"]):
            truth[record.id] = record.truth
    return truth


def list_scenarios():
    for name, scenario in SCENARIOS.items():
        print(f"{name}  held_out: {str(scenario.held_out).lower()}  {scenario.__doc__.strip().splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\nHeld")[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", choices=SCENARIOS, metavar="SCENARIO")
    parser.add_argument("seed", nargs="?", type=int, metavar="SEED")
    parser.add_argument("folder", nargs="?", metavar="DIR")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    arguments = parser.parse_args()
    if arguments.list:
        return list_scenarios()
    if arguments.folder is None:
        parser.error("SCENARIO, SEED and DIR are needed")
    generate(arguments.scenario, arguments.seed, arguments.folder)
    return None


if __name__ == "__main__":
    sys.exit(main())
