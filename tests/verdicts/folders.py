#!/usr/bin/env python3
"""Results folders in the study's layout whose truth is known.

  folders.py SCENARIO SEED DIR    writes DIR/results/ and DIR/truth.json
  folders.py --list               names the scenarios
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

from layout import record_of, render, write_folder
from scenarios import SCENARIOS
from study import Spec, effects, simulate, stream

AFTERMATH = 0.01       # an effect on an experiment beside which nothing planted ran: heat or clocks left by it


def generate(scenario, seed, folder, extra=0, shift_s=0):
    """Writes the folder and gives its truth.  `extra` more undisturbed experiments at the end, all `shift_s` later."""
    plan = SCENARIOS[scenario](stream(scenario, seed))
    planned = len(plan.specs)
    plan.specs += [more_of(plan, n, stream(scenario, seed, "extra", n)) for n in range(extra)]
    plan.epoch_s += shift_s
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
    for record in records:
        render(record)
    damage(plan, records[:planned], "files", stream(name, "damage", "files"))
    folder = Path(folder)
    shutil.rmtree(folder / "results", ignore_errors=True)
    write_folder(records, folder / "results")
    truth = by_id(records)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    return truth


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
        print(f"{name}  held_out: {str(scenario.held_out).lower()}  {scenario.__doc__.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
