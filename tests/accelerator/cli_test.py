#!/usr/bin/env python3
"""Devices that plugins bring, as users meet them: cli_test.py LOCKSTEP FAKE_PLUGIN.

XLA on the processor trains, evaluates, predicts and goes on from a run made elsewhere; programs are
compiled for chips that are not here; a plugin that crashes, hangs or is missing is named.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

LOCKSTEP = FAKE_PLUGIN = ""

# Functions of the plugin's table.
CLIENT_COMPILE = 20


def run(words, **variables):
    return subprocess.run(
        [LOCKSTEP, *words.split()],
        capture_output=True,
        text=True,
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        timeout=300,
        check=False,
    )


class Accelerators(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def well(self, words, **variables):
        result = run(words, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def train(self, devices, *more):
        # Few rows and towers: XLA's convolutions are slow on the processor.
        options = "--batch-size 16 --tower-size 8 --steps-per-epoch 2 --seed 3"
        words = f"train zoo:mnist_cnn --data fashion-mnist {options} --devices {devices}"
        return self.well(f"{words} {' '.join(more)}")

    def test_a_run_goes_on_elsewhere(self):
        run_folder, whole, broken = self.path("run"), self.path("a.keras"), self.path("b.keras")
        self.train("xla_cpu:2", "--epochs", "2", "--save", whole)
        self.train("xla_cpu:1", "--epochs", "1", "--run", run_folder)
        programs = os.listdir(os.path.join(run_folder, "programs"))
        self.assertGreater(len(programs), 3)
        resume = ["--epochs", "2", "--run", run_folder, "--resume", "--save", broken]
        self.train("xla_cpu:0,0,1", *resume)
        with open(whole, "rb") as one, open(broken, "rb") as other:
            self.assertEqual(one.read(), other.read())
        # On another kind to rounding, which is said in one line.
        resume[1] = "3"
        words = self.train("cpu:2", *resume)
        self.assertEqual(words.count("to rounding, not bit for bit"), 1, words)
        self.assertIn("xla_cpu", words)

    def test_evaluate_and_predict_agree_with_the_processor(self):
        model, results = self.path("m.keras"), {}
        self.train("cpu:1", "--save", model)
        for devices in ("cpu:1", "xla_cpu:2"):
            out = self.path("out.json")
            self.well(
                f"evaluate {model} --data fashion-mnist --batch-size 2000 --tower-size 500 "
                f"--devices {devices} --out {out}"
            )
            with open(out, encoding="utf-8") as file:
                results[devices] = json.load(file)
        for name, value in results["cpu:1"].items():
            self.assertAlmostEqual(value, results["xla_cpu:2"][name], delta=1e-4 * abs(value) + 1e-4)

    def test_devices_says_what_would_bring_each_kind(self):
        lines = self.well("devices", LOCKSTEP_PJRT_PLUGIN_CUDA="").splitlines()
        kinds = {line.split()[0]: line for line in lines}
        self.assertEqual(set(kinds), {"cpu", "reference", "cuda", "rocm", "sycl", "tpu", "xla_cpu"})
        self.assertIn("pip install", kinds["rocm"])
        self.assertIn("LOCKSTEP_PJRT_PLUGIN_ROCM", kinds["rocm"])
        self.assertRegex(kinds["xla_cpu"], r"^xla_cpu +8 ")

    def test_compile_for_a_chip(self):
        texts = self.path("texts")
        words = f"compile zoo:mnist_cnn --target h100 --devices 8 --out {texts} --json"
        report = json.loads(self.well(words))
        tower = [p for p in report["programs"] if p["program"].startswith("train")]
        self.assertEqual(len(tower), 1)
        self.assertGreater(tower[0]["memory"]["temporary"], 0)
        self.assertGreater(tower[0]["fusions"], 0)
        # Three convolutions, forward and backward, are the vendor's.
        convolutions = [n for target, n in tower[0]["vendor_calls"].items() if "cudnn" in target]
        self.assertGreaterEqual(sum(convolutions), 8)
        self.assertTrue(all(program["collectives"] == 0 for program in report["programs"]))
        for name in os.listdir(texts):
            with open(os.path.join(texts, name), encoding="utf-8") as file:
                self.assertIsNone(re.search(r"all_reduce|reduce_scatter", file.read()))

    def test_what_compile_refuses(self):
        for code, words, part in (
            (2, "compile zoo:mnist_cnn", "--target"),
            (5, "compile zoo:mnist_cnn --target h900", "h100, h200"),
            (2, "compile zoo:mnist_cnn --target h100 --devices 0", "--devices"),
            (4, "compile zoo:mnist_cnn --target h100 --batch-size 4000000 --tower-size 4000000", "plans"),
        ):
            result = run(words)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertIn(part, result.stderr)

    def test_a_plugin_that_is_missing_is_named(self):
        result = run(
            "train zoo:mnist_cnn --data fashion-mnist --devices xla_cpu:1",
            LOCKSTEP_PJRT_PLUGIN_XLA_CPU="/nowhere/plugin.so",
        )
        self.assertEqual(result.returncode, 5)
        self.assertIn("[LOCKSTEP_PJRT_PLUGIN_XLA_CPU]", result.stderr)
        self.assertIn("/nowhere/plugin.so", result.stderr)

    def test_a_plugin_that_crashes_is_named(self):
        result = run(
            "train zoo:mnist_cnn --data fashion-mnist --devices xla_cpu:1",
            LOCKSTEP_PJRT_PLUGIN_XLA_CPU=FAKE_PLUGIN,
            LOCKSTEP_FAKE_PLUGIN_CRASHES=CLIENT_COMPILE,
        )
        self.assertEqual(result.returncode, -6)
        self.assertIn("foreign code has crashed: ", result.stderr)
        self.assertIn(FAKE_PLUGIN, result.stderr)

    def test_a_plugin_that_hangs_is_named(self):
        result = run(
            "train zoo:mnist_cnn --data fashion-mnist --devices xla_cpu:1",
            LOCKSTEP_PJRT_PLUGIN_XLA_CPU=FAKE_PLUGIN,
            LOCKSTEP_FAKE_PLUGIN_HANGS=CLIENT_COMPILE,
            LOCKSTEP_VENDOR_TIMEOUT=1,
        )
        self.assertEqual(result.returncode, 70)
        self.assertIn("compiling", result.stderr)
        self.assertIn(FAKE_PLUGIN, result.stderr)


if __name__ == "__main__":
    FAKE_PLUGIN = os.path.abspath(sys.argv.pop(2))
    LOCKSTEP = os.path.abspath(sys.argv.pop(1))
    unittest.main()
