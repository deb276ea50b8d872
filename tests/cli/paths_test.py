"""What is not there, and where nothing can be written."""

import os
import subprocess

import cli_case
from cli_case import CliTest

# Root may write into folders that are read-only for all others: be somebody else.
NOBODY = 65534


class BadPaths(CliTest):
    """What is not there, and where nothing can be written."""

    def test_missing(self):
        self.refuse(5, "inspect none.keras", "none.keras")
        self.refuse(5, "inspect none.json", "none.json")
        self.refuse(5, "train none.keras --data train.npz", "none.keras")
        self.refuse(5, "train model.json --data none.npz", "none.npz")
        self.refuse(5, "train model.json --data idx:none", "none")
        self.refuse(5, "train model.json --data train.npz --validation none.npz", "none.npz")
        evaluate = "evaluate model.keras --data train.npz --weights "
        self.refuse(5, evaluate + "none.weights.h5", "none.weights.h5")
        (self.folder / "empty").mkdir(exist_ok=True)
        self.refuse(5, "train model.json --data idx:empty", "train-images-idx3-ubyte")

    def test_endings(self):
        self.write("model.txt", b"text")
        self.write("model.h5", b"\x89HDF\r\n\x1a\n")
        self.refuse(2, "inspect model.txt", "model.txt")
        self.refuse(6, "inspect model.h5", "model.h5")
        self.refuse(2, "train model.json --data model.txt", "model.txt")
        self.refuse(3, "train model.json --data images:empty", "images:empty")

    def test_folders_to_write_to_that_are_missing(self):
        train = "train model.json --data train.npz --devices cpu:1 "
        self.refuse(5, train + "--save none/bad.keras", "[--save]", "none")
        self.refuse(5, train + "--losses none/bad.npy", "[--losses]", "none")
        options = "model.keras --data train.npz --devices cpu:1 --out none/out"
        self.refuse(5, f"predict {options}.npz", "none")
        self.refuse(5, f"evaluate {options}.json", "none")

    def test_a_folder_to_write_to_that_is_a_file(self):
        train = "train model.json --data train.npz --devices cpu:1 "
        self.refuse(5, train + "--save train.npz/bad.keras", "[--save]", "train.npz")

    def test_an_output_that_is_a_folder_is_found_out_before_the_training(self):
        (self.folder / "folder").mkdir(exist_ok=True)
        train = "train model.json --data train.npz --devices cpu:1 "
        result = self.execute(train + "--save folder")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("folder", result.stderr)
        self.assertEqual(result.stdout, "", "no epoch was trained")

    def test_a_read_only_folder(self):
        shut = self.folder / "shut"
        shut.mkdir(exist_ok=True)
        (shut / "old.keras").write_bytes(b"old")
        shut.chmod(0o555)
        user = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        try:
            if user:
                subprocess.run([cli_case.LOCKSTEP, "help"], capture_output=True, check=True, **user)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("another user cannot run the program")
        for words in (
            "train model.json --data train.npz --devices cpu:1 --save shut/old.keras",
            "train model.json --data train.npz --devices cpu:1 --losses shut/new.npy",
            "train model.json --data train.npz --devices cpu:1 --run shut/run",
            "predict model.keras --data train.npz --devices cpu:1 --out shut/new.npz",
            "evaluate model.keras --data train.npz --devices cpu:1 --out shut/new.json",
        ):
            with self.subTest(words=words):
                before = self.files()
                result = self.execute(words, **user)
                self.assertIn(result.returncode, (2, 5), result.stderr)
                self.assertIn("shut", result.stderr)
                self.assertEqual(self.files(), before)
        self.assertEqual((shut / "old.keras").read_bytes(), b"old")
