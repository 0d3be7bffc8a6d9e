#!/usr/bin/env python3
"""What the generator of folders does, against values worked out by hand."""
import random
import unittest
from dataclasses import replace

from check_folders import differences, faults_of_kind
from machine import Companion, Gpu, Host, Loop, Machine, Phase, Sampler
from study import FOREVER, Background, background_companions
from trainings import Speed

GPU = Gpu(rest_w=50, awake_w=80, cap_w=400, clock_lag_s=1, reading_tau_s=0.1, drift_per_k=0, leak_w_per_k=0,
          ambient_c=28, heat_k_per_w=0.08, heat_tau_s=30, limit_c=90, slice_cost=1, jitter=0.003, memory_sensor=False)
HOST = Host(idle_w=20, span_w=100, ram_w=2, crosstalk=0.2, sampler_period_s=1, stall_rate=0, zone_s=0, clock_drift=0)
HEAVY = Phase(100, duty=1.0, intensity=0.9, cpu=0.1, context=1.0)
LIGHT = Phase(100, duty=0.4, intensity=0.5, cpu=0.3, context=1.0, disk=0.5)


def trained(own, **beside):
    machine = Machine(GPU, HOST, 1.7e9)
    others = [Companion(Loop([Phase(FOREVER, **({"cpu": 0.0} | beside))], random.Random(1)), -1, 9, "beside")]
    run = machine.train([own], 0, others, Speed(1, 1, 1, 1), random.Random(2), Sampler(HOST, 1.0, random.Random(3)))
    return run, machine


class Effects(unittest.TestCase):
    def lasts(self, seconds, own, **beside):
        self.assertAlmostEqual(trained(own, **beside)[0].seconds, seconds, delta=0.01)

    def test_the_host_takes_longer_and_the_gpu_does_not(self):
        self.lasts(130, LIGHT, drag=0.5)                # 40 + 60 * 1.5
        self.lasts(130, LIGHT, disk=0.5)                # 40 + 30 + 30 / 0.5
        self.lasts(115, LIGHT, cpu_ceiling=0.8)         # 40 + 60 / 0.8
        for beside in ({"drag": 0.5}, {"disk": 0.5}, {"cpu_ceiling": 0.8}):
            self.lasts(100, HEAVY, **beside)

    def test_lower_clocks_of_the_processors_take_less_power(self):
        whole, half = (trained(HEAVY, cpu_ceiling=share)[0].cpu_j / 100 - 20 for share in (1.0, 0.5))
        self.assertAlmostEqual(half, whole / 4, delta=0.001)

    def test_a_power_limit_is_kept_by_the_clocks(self):
        run, machine = trained(HEAVY, limit=0.7)
        self.assertAlmostEqual(machine.power, 280, delta=1)                     # 0.7 * 400 W
        self.assertAlmostEqual(machine.clocks, (200 / 288) ** 0.5, delta=0.003)  # 80 W + 0.9 * 320 W at full clocks
        self.assertAlmostEqual(run.seconds, 100 / machine.clocks, delta=1)
        self.assertEqual(run.planted, {"beside"})

    def test_a_power_limit_that_is_not_reached_changes_nothing(self):
        self.lasts(100, LIGHT, limit=0.5)


class Backgrounds(unittest.TestCase):
    def test_what_runs_instead_takes_over_where_the_defect_sets_in(self):
        planned, other = [Phase(5)], [Phase(7)]
        background = Background(None, {}, planned, 10, "was another training", 0.5, other)
        begun = [(c.loop.phases, c.begins, c.ends) for c in background_companions(background, 3, random.Random(1))]
        self.assertEqual(begun, [(planned, 2.99, 3.45), (other, 3.45, 3.9)])    # a training is 0.9 of its unit
        background = replace(background, defect=None)
        self.assertEqual([c.loop.phases for c in background_companions(background, 3, random.Random(1))], [planned])


class Truths(unittest.TestCase):
    TRUTH = {"time_disturbed": 0.1, "gpu_energy_disturbed": 0.2, "cpu_energy_disturbed": 0.0,
             "gpu_energy_recorded": -0.01, "disturbed_by": "beside", "data_errors": [], "failed": False}

    def test_files_that_say_what_the_truth_says_have_no_fault(self):
        self.assertEqual(differences("a", self.TRUTH, (110, 1200, 50), (100, 1000, 50, -0.01)), [])

    def test_a_truth_that_is_off_by_a_per_cent_is_a_fault(self):
        for numbers in ((111.2, 1200, 50), (110, 1212, 50), (110, 1200, 50.5)):
            self.assertEqual(len(differences("a", self.TRUTH, numbers, (100, 1000, 50, -0.01))), 1, numbers)

    def test_a_clean_folder_with_a_disturbance_is_a_fault(self):
        self.assertEqual(len(faults_of_kind("clean_x", {"a": self.TRUTH})), 1)
        self.assertEqual(len(faults_of_kind("data_x", {"a": self.TRUTH})), 1)
        self.assertEqual(faults_of_kind("x", {"a": self.TRUTH}), [])
        self.assertEqual(len(faults_of_kind("x", {"a": self.TRUTH | {"disturbed_by": None}})), 1)


if __name__ == "__main__":
    unittest.main()
