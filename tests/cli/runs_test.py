"""Runs that are stopped and gone on with, and what can be asked about them."""

import json
import re
import shutil
import signal
import subprocess

import cli_case
from cli_case import CliTest
from cli_files import read_npy


class Runs(CliTest):
    """--run, --resume, signals, inspect and convert."""

    # Long enough to be stopped on the way.
    TRAIN = (
        "train model.json --data train.npz --validation train.npz --batch-size 4 --tower-size 2"
        " --epochs 100 --checkpoint-every 7 "
    )

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        result = cls.execute(cls.TRAIN + "--run whole --devices cpu:2 --save whole.keras --losses whole.npy")
        if result.returncode != 0:
            raise RuntimeError(result.stderr)

    def stop(self, run, stop_signal, devices="cpu:1"):
        """Starts the training and stops it once it has an epoch behind it."""
        words = self.TRAIN + f"--run {run} --resume --devices {devices} --save {run}.keras"
        command = [cli_case.LOCKSTEP, *words.split()]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=self.folder, stdout=pipe, stderr=pipe, text=True) as process:
            for line in process.stdout:
                if " loss: " in line:
                    break
            process.send_signal(stop_signal)
            errors = process.communicate()[1]
        return process.returncode, errors

    def test_signals_end_with_a_checkpoint_and_the_shells_exit_code(self):
        for stop_signal, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            run = f"stopped{code}"
            came, errors = self.stop(run, stop_signal)
            self.assertEqual(came, code, errors)
            step = int(re.search(r"after step (\d+)", errors)[1])
            self.assertIn(f"step-{step:08d}", [p.name for p in (self.folder / run / "checkpoints").iterdir()])
            self.assertFalse((self.folder / f"{run}.keras").exists())

    def test_after_every_kind_of_stop_the_bits_are_those_of_the_whole_run(self):
        for number, stop_signal in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGINT)):
            self.stop("broken", stop_signal, f"cpu:{1 + number}")
        self.run_well(
            self.TRAIN + "--run broken --resume --devices cpu:3 --save broken.keras --losses broken.npy"
        )
        for name in ("keras", "npy"):
            self.assertEqual(self.read(f"broken.{name}"), self.read(f"whole.{name}"), name)
        self.assertEqual(self.read("broken/history.csv"), self.read("whole/history.csv"))
        self.assertEqual(len(read_npy(self.read("broken.npy"))[1]), 300)

    def test_a_complete_run_gives_its_model_again(self):
        self.run_well(self.TRAIN + "--run whole --resume --save again.keras")
        self.assertEqual(self.read("again.keras"), self.read("whole.keras"))

    def test_other_arguments_are_refused_naming_both(self):
        for old, new, words in (
            ("--batch-size 4", "--batch-size 3", ("batch_size", "4", "3")),
            ("--validation train.npz", "", ("validation",)),
            ("model.json", "model.keras", ("model", "model.json", "model.keras")),
            ("--tower-size 2", "--tower-size 1", ("tower_size", "2", "1")),
            ("--epochs 100", "--epochs 99", ("epochs", "100", "99")),
            ("--epochs 100", "--epochs 100 --seed 1", ("seed", "0", "1")),
        ):
            self.refuse(2, self.TRAIN.replace(old, new) + "--run whole --resume", *words)

    def test_a_folder_with_checkpoints_is_not_written_over(self):
        self.refuse(2, self.TRAIN + "--run whole", "whole", "has checkpoints", "resume")

    def test_options_of_runs_need_one(self):
        for option in ("--resume", "--checkpoint-every 5", "--keep 2"):
            self.refuse(2, self.TRAIN.replace("--checkpoint-every 7", "") + option, "--run DIR")

    def test_keep(self):
        self.run_well(self.TRAIN + "--run kept --keep 1")
        self.assertEqual([p.name for p in (self.folder / "kept/checkpoints").iterdir()], ["step-00000300"])

    def test_inspect_says_where_a_run_stands(self):
        for word in ("whole", "whole/checkpoints/step-00000300"):
            out = self.run_well(f"inspect {word}")
            for part in ("checkpoint after step 300", "epoch: 100", "devices: cpu:2", "oneDNN", "Model:"):
                self.assertIn(part, out)
        self.refuse(5, "inspect whole/checkpoints", "whole/checkpoints")

    def test_damage_is_named_and_passed_over(self):
        shutil.copytree(self.folder / "whole", self.folder / "damaged", dirs_exist_ok=True)
        newest = self.folder / "damaged/checkpoints/step-00000300/model.keras"
        newest.write_bytes(newest.read_bytes()[:-1])
        result = self.execute(self.TRAIN + "--run damaged --resume --save damaged.keras")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("step-00000300", result.stdout)
        self.assertEqual(self.read("damaged.keras"), self.read("whole.keras"))

    def test_convert(self):
        for out in ("c.keras", "c.weights.h5", "c.json", "c.npz"):
            self.run_well(f"convert whole {out}")
        self.assertEqual(json.loads(self.read("c.json"))["class_name"], "Sequential")
        self.run_well("convert c.json d.keras --weights c.weights.h5")
        self.run_well("convert d.keras d.npz")
        self.assertEqual(self.read("d.npz"), self.read("c.npz"))
        self.refuse(2, "convert whole c.txt", "c.txt", ".keras")
        self.refuse(2, "convert whole", "IN and OUT")
        self.refuse(5, "convert whole none/c.keras", "none")
        self.refuse(5, "convert nothing.keras c.keras", "nothing.keras")
