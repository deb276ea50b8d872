"""Every command does what its help says."""

import gzip
import json
import pathlib
import zipfile

from cli_case import CliTest
from cli_files import CLASSES, ROWS, features, idx, image_classifier, npz, read_npy


class Commands(CliTest):
    """Every command does what its help says."""

    TRAIN = "train model.json --data train.npz --devices cpu:1 --batch-size 4 "

    def test_overview_and_help(self):
        overview = self.run_well("help")
        self.assertEqual(overview, self.run_well("--help"))
        for command in ("train", "evaluate", "predict", "inspect", "devices", "ops", "bench"):
            self.assertIn(command, overview)
            self.assertIn(f"lockstep {command}", self.run_well(f"{command} --help"))
        alone = self.execute("")
        self.assertEqual(alone.returncode, 2)

    def test_train_prints_a_line_an_epoch(self):
        out = self.run_well(self.TRAIN + "--epochs 3 --validation train.npz")
        lines = [line for line in out.splitlines() if "loss" in line]
        self.assertEqual(len(lines), 3, out)
        for line in lines:
            self.assertRegex(line, "^3/3 - .* - accuracy: .* - loss: .* - val_accuracy: .* - val_l")
        self.assertNotIn("\r", out)
        self.assertNotIn("\x1b", out)
        self.assertRegex(out, r"^Epoch 1/3\n")

    def test_train_twice_gives_the_same_bytes_on_any_devices(self):
        for name, devices in (("a", "cpu:1"), ("b", "cpu:2"), ("c", "cpu:3")):
            self.run_well(
                f"train model.json --data train.npz --batch-size 4 --tower-size 1 --epochs 2"
                f" --devices {devices} --save {name}.keras"
            )
        self.assertEqual(self.read("a.keras"), self.read("b.keras"))
        self.assertEqual(self.read("a.keras"), self.read("c.keras"))

    def test_options_take_an_equals_sign(self):
        self.run_well(self.TRAIN + "--save=equals.keras --epochs=2")
        self.run_well(self.TRAIN + "--save spaces.keras --epochs 2")
        self.assertEqual(self.read("equals.keras"), self.read("spaces.keras"))

    def test_losses_in_three_forms(self):
        for form in ("npy", "json", "txt"):
            self.run_well(self.TRAIN + f"--epochs 2 --losses losses.{form}")
        from_json = json.loads(self.read("losses.json"))
        self.assertEqual(len(from_json), 6)
        self.assertEqual(read_npy(self.read("losses.npy")), ((6,), from_json))
        self.assertEqual([float(x) for x in self.read("losses.txt").split()], from_json)

    def test_the_run_folder_holds_run_and_history(self):
        self.run_well(self.TRAIN + "--epochs 2 --seed 7 --shuffle off --run runs/first")
        run = json.loads(self.read("runs/first/run.json"))
        self.assertEqual((run["batch_size"], run["epochs"], run["seed"]), (4, 2, 7))
        self.assertIs(run["shuffle"], False)
        rows = self.read("runs/first/history.csv").decode().splitlines()
        # As Keras's CSVLogger: room for validation.
        self.assertEqual(rows[0], "epoch,accuracy,loss,val_accuracy,val_loss")
        self.assertEqual([row.split(",")[0] for row in rows[1:]], ["0", "1"])

    def test_the_history_counts_from_the_initial_epoch(self):
        self.run_well(self.TRAIN + "--epochs 3 --initial-epoch 2 --run runs/late")
        rows = self.read("runs/late/history.csv").decode().splitlines()
        self.assertEqual([row.split(",")[0] for row in rows[1:]], ["2"])
        self.assertEqual(rows[1].count(","), rows[0].count(","))

    def test_a_training_goes_on_from_its_file(self):
        self.run_well(self.TRAIN + "--epochs 3 --save whole.keras")
        self.run_well(self.TRAIN + "--epochs 1 --save first.keras")
        self.run_well(
            self.TRAIN.replace("model.json", "first.keras")
            + "--epochs 3 --initial-epoch 1 --save second.keras"
        )
        self.assertEqual(self.read("second.keras"), self.read("whole.keras"))

    def test_metrics_alone_keep_the_optimizer(self):
        self.run_well(
            self.TRAIN.replace("model.json", "model.keras")
            + "--metrics sparse_categorical_crossentropy --save more.keras"
        )
        self.assertIn("6 steps done", self.run_well("inspect more.keras"))

    def test_optimizer_loss_and_metrics_of_a_model_that_has_none(self):
        out = self.run_well(
            "train bare.json --data train.npz --devices cpu:1 --optimizer sgd"
            " --loss sparse_categorical_crossentropy --metrics accuracy --save sgd.keras"
        )
        self.assertIn("accuracy", out)
        self.assertIn("optimizer SGD, 1 steps done", self.run_well("inspect sgd.keras"))

    def test_steps_per_epoch_and_reference_devices(self):
        self.run_well(
            "train model.json --data train.npz --batch-size 4 --steps-per-epoch 2 --epochs 2"
            " --devices reference:1 --save short.keras"
        )
        self.assertIn("4 steps done", self.run_well("inspect short.keras"))

    def test_evaluate_prints_and_writes_numbers(self):
        out = self.run_well("evaluate model.keras --data train.npz --devices cpu:1 --out e.json")
        numbers = json.loads(self.read("e.json"))
        self.assertEqual(list(numbers), ["loss", "accuracy"])
        for line in out.splitlines():
            name, value = line.split(": ")
            self.assertAlmostEqual(float(value), numbers[name], places=4)

    def test_predict_writes_probabilities(self):
        for devices in (1, 2):
            out = self.run_well(
                f"predict model.keras --data train.npz --out p{devices}.npz --batch-size 5"
                f" --tower-size 2 --devices cpu:{devices}"
            )
        self.assertIn("predict/out", out)
        with zipfile.ZipFile(self.folder / "p1.npz") as archive:
            self.assertEqual(archive.namelist(), ["predict/out.npy"])
            shape, values = read_npy(archive.read("predict/out.npy"))
        self.assertEqual(shape, (ROWS, CLASSES))
        for row in range(ROWS):
            self.assertAlmostEqual(sum(values[row * CLASSES : (row + 1) * CLASSES]), 1, places=5)
        self.assertEqual(self.read("p1.npz"), self.read("p2.npz"))

    def test_weights_are_loaded_over_the_models(self):
        with zipfile.ZipFile(self.folder / "model.keras") as archive:
            self.write("w.weights.h5", archive.read("model.weights.h5"))
        want = self.run_well("evaluate model.keras --data train.npz --devices cpu:1")
        for file in ("model.keras", "w.weights.h5"):
            got = self.run_well(
                f"evaluate model.json --data train.npz --devices cpu:1 --weights {file}"
            )
            self.assertEqual(got, want)

    def test_old_h5_files(self):
        data = pathlib.Path(__file__).resolve().parent.parent / "io/data/legacy"
        for name in ("gan.h5", "frozen.h5"):
            self.write(name, (data / name).read_bytes())
        self.assertIn("optimizer Adam, 2 steps done", self.run_well("inspect gan.h5"))
        self.run_well("convert gan.h5 gan.keras")
        for out in ("gan.weights.h5", "w.h5", "w.hdf5"):
            self.run_well(f"convert gan.h5 {out}")
            self.run_well(f"convert gan.h5 back.keras --weights {out}")
            self.assertEqual(self.read("back.keras"), self.read("gan.keras"))
        self.write("z.npz", npz({"x": features(4, 3)}))
        self.run_well("predict gan.h5 --data z.npz --out p.npz --devices cpu:1")
        self.refuse(2, "inspect frozen.h5", "frozen.h5", "weights alone")
        self.refuse(2, "convert gan.h5 out.txt", "out.txt", ".hdf5")

    def test_an_idx_folder(self):
        self.write("image.json", image_classifier())
        for part, rows in (("train", 6), ("t10k", 3)):
            images = idx(8, (rows, 2, 2), bytes(range(4 * rows)))
            self.write(f"idx/{part}-images-idx3-ubyte.gz", gzip.compress(images))
            self.write(
                f"idx/{part}-labels-idx1-ubyte", idx(8, (rows,), bytes(i % 3 for i in range(rows)))
            )
        out = self.run_well(
            "train image.json --data idx:idx --validation idx:idx --devices cpu:1 --batch-size 2"
        )
        self.assertIn("3/3", out)
        self.run_well("evaluate image.json --data idx:idx --devices cpu:1")

    def test_inspect(self):
        out = self.run_well("inspect model.keras")
        for part in ("hidden", "out", "Total params: 67", "optimizer Adam, 3 steps done"):
            self.assertIn(part, out)
        self.assertIn("Total params: 67", self.run_well("inspect bare.json"))
        self.assertIn("333,066", self.run_well("inspect zoo:mnist_cnn"))

    def test_devices_and_ops(self):
        out = self.run_well("devices")
        self.assertIn("cpu", out)
        self.assertIn("reference", out)
        self.assertIn("dot_general", self.run_well("ops"))
        self.assertTrue(self.run_well("ops --markdown").startswith("| op | operands | meaning |"))

    def test_bench(self):
        out = self.run_well("bench model.keras --batch-size 8 --steps 2 --devices cpu:1 --json")
        numbers = json.loads(out)
        self.assertGreater(numbers["samples_per_s"], 0)
        self.assertEqual((numbers["batch_size"], numbers["devices"]), (8, 1))
        out = self.run_well("bench model.keras --batch-size 8 --steps 2 --devices cpu:1")
        self.assertIn("samples/s", out)
        out = self.run_well("bench model.keras --steps 2 --devices cpu:1 --roofline --json")
        roofline = json.loads(out)["roofline"]
        self.assertEqual(roofline["of"], "dot products")
        self.assertGreater(roofline["samples_per_s"], 0)
        self.assertTrue(any(k["gflop_per_s"] > 0 for k in roofline["kernels"]))
        # Where kernels cannot be told apart, as on accelerators.
        out = self.run_well("bench model.keras --batch-size 4 --steps 1 --devices reference:1 --roofline")
        self.assertIn("its towers alone: ", out)
