"""GANs: pictures, losses, stops."""

import json
import signal
import subprocess

import cli_case
from cli_case import CliTest
from cli_files import COMPILE, floats, layer, npz, read_npy, sequential


def images(rows=12):
    """[rows, 28, 28] in [0, 1]."""
    return floats((rows, 28, 28), [((i * 7) % 11) / 10 for i in range(rows * 28 * 28)])


class Gans(CliTest):
    """lockstep train zoo:dcgan."""

    TRAIN = "train zoo:dcgan --data images.npz --batch-size 4 --tower-size 2 --epochs 2 "

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write("images.npz", npz({"x": images()}))
        result = cls.execute(
            cls.TRAIN + "--run whole --devices cpu:1 --sample-every 2 --save whole.keras --losses whole.npy"
        )
        if result.returncode != 0:
            raise RuntimeError(result.stderr)
        cls.printed = result.stdout

    def test_losses_are_printed_and_kept(self):
        self.assertIn("d_loss: ", self.printed)
        self.assertIn("g_loss: ", self.printed)
        rows = self.read("whole/history.csv").decode().splitlines()
        self.assertEqual(rows[0], "epoch,d_loss,g_loss")
        self.assertEqual(len(rows), 3)
        self.assertEqual(read_npy(self.read("whole.npy"))[0], (6, 2))

    def test_pictures_are_png(self):
        names = sorted(path.name for path in (self.folder / "whole/samples").iterdir())
        self.assertEqual(names, [f"step-0000000{step}.png" for step in (2, 4, 6)])
        self.assertTrue(self.read("whole/samples/step-00000002.png").startswith(b"\x89PNG"))

    def test_a_killed_run_goes_on_to_the_same_bits(self):
        words = self.TRAIN + "--run broken --resume --sample-every 2 --checkpoint-every 1 "
        command = [cli_case.LOCKSTEP, *words.split(), "--devices", "cpu:2"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if "d_loss" in line:
                    break
            process.send_signal(signal.SIGKILL)
        self.run_well(words + "--devices cpu:3 --save broken.keras --losses broken.npy")
        for name in (".keras", ".npy", "/history.csv", "/samples/step-00000006.png"):
            self.assertEqual(self.read("broken" + name), self.read("whole" + name), name)

    def test_a_checkpoint_has_a_file_for_each_model(self):
        checkpoint = "whole/checkpoints/step-00000006"
        self.run_well(f"inspect {checkpoint}/generator.keras")
        self.run_well(f"train {checkpoint}/gan.keras --data images.npz --batch-size 4 --devices cpu:1")
        files = "whole/checkpoints/step-00000006/{discriminator.keras,gan.keras,generator.keras}"
        self.refuse(2, "predict whole --data images.npz --out o.npz", files)

    def test_a_run_folder_of_several_models_can_be_inspected(self):
        self.assertIn("file discriminator.keras", self.run_well("inspect whole"))

    def test_data_that_does_not_fit_leaves_no_run_folder(self):
        self.write("wide.npz", npz({"x": floats((8, 28, 29), [0.5] * (8 * 28 * 29))}))
        words = "train zoo:dcgan --data wide.npz --batch-size 4 --run wide"
        self.refuse(2, words, "[x/image] samples must have shape")
        self.refuse(2, self.TRAIN + "--run wide --devices cpu:0", "cpu:0")
        self.refuse(2, self.TRAIN + "--save gan.h5", "--save", "saved as .keras")

    def test_only_a_chain_is_a_gan(self):
        def model(name, shape, *layers):
            network = json.loads(sequential(shape, layers))
            network["config"]["name"] = name
            return network

        inner = [
            model("generator", [3], layer("Dense", name="a", units=4)),
            layer("ReLU", name="between"),
            model("discriminator", [4], layer("Dense", name="b", units=1)),
        ]
        self.write("between.json", sequential([3], inner, COMPILE))
        words = "train between.json --data train.npz --batch-size 4"
        self.refuse(2, words, "must be discriminator(generator(noise))")

    def test_words_that_mean_nothing_for_a_gan_are_refused(self):
        self.refuse(3, self.TRAIN + "--metrics accuracy", "--metrics")
        self.refuse(3, self.TRAIN + "--validation images.npz", "--validation")
        self.refuse(2, "train model.json --data train.npz --sample-every 3", "is for GANs")
        large = self.TRAIN.replace("--batch-size 4", "--batch-size 40")
        self.refuse(2, large, "must be at most the 12 samples")
