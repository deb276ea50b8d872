"""What users mistype: options, values, names, devices."""

from cli_case import CliTest


class BadWords(CliTest):
    """What the command line itself holds."""

    def test_commands(self):
        self.refuse(2, "trian", '"trian"', "train")
        self.refuse(2, "--version-of-what", "--version-of-what")

    def test_options(self):
        self.refuse(2, "train model.json --epoch 3", "[--epoch]", "--epochs")
        self.refuse(2, "evaluate model.keras --shuffle on", "[--shuffle]")
        self.refuse(2, "train model.json --epochs", "[--epochs]", "value")
        self.refuse(2, "bench model.keras --json=1", "[--json]", "no value")
        self.refuse(2, "train", "[MODEL]")
        self.refuse(2, "inspect model.keras model.json", "[MODEL]", "2 came")
        self.refuse(2, "train model.json", "[--data]")
        self.refuse(2, "evaluate model.keras", "[--data]")
        self.refuse(2, "predict model.keras --data train.npz", "[--out]")
        self.refuse(2, "devices now", "now")
        self.refuse(2, "ops all", "all")

    def test_values(self):
        train = "train model.json --data train.npz --devices cpu:1 --save bad.keras "
        for words, *parts in (
            ("--epochs ten", "[--epochs]", '"ten"'),
            ("--epochs 1.5", "[--epochs]", '"1.5"'),
            ("--epochs 99999999999999999999", "[--epochs]"),
            ("--epochs 0", "epochs]", "0"),
            ("--epochs -1", "epochs]", "-1"),
            ("--batch-size 0", "batch", "0"),
            ("--batch-size -4", "batch", "-4"),
            ("--tower-size 0", "[--tower-size]", "0"),
            ("--initial-epoch -1", "epoch", "-1"),
            ("--steps-per-epoch 0", "steps", "0"),
            ("--seed x", "[--seed]", '"x"'),
            ("--shuffle maybe", "[--shuffle]", '"maybe"'),
            ("--batchnorm both", "[--batchnorm]", '"both"'),
            ("--run train.npz", "train.npz"),
        ):
            self.refuse(2, train + words, *parts)
        self.refuse(2, "bench model.keras --steps 0", "steps")
        self.refuse(2, "bench model.keras --batch-size 0", "batch")
        for command in ("evaluate model.keras --out e.json", "predict model.keras --out p.npz"):
            self.refuse(2, command + " --data train.npz --batch-size 0", "[batch_size]")
            self.refuse(2, command + " --data train.npz --tower-size -1", "[tower_size]")

    def test_names(self):
        train = "train model.json --data train.npz --devices cpu:1 --save bad.keras "
        self.refuse(3, train + "--optimizer adamm", "adamm")
        self.refuse(3, train + "--loss msee", "msee")
        self.refuse(3, train + "--metrics accuracy,acuracy", "acuracy")
        self.refuse(3, train + "--precision bfloat16", "[--precision]", "bfloat16")
        self.refuse(5, "inspect zoo:mnist_cn", "mnist_cnn")

    def test_devices(self):
        for command in (
            "train model.json --save bad.keras",
            "evaluate model.keras --out bad.json",
            "predict model.keras --out bad.npz",
        ):
            for spec in ("cpu:0", "cpu:x", "gpu", ""):
                words = [*command.split(), "--data", "train.npz", "--devices", spec]
                self.refuse(2, words, "[devices]", spec)
            self.refuse(5, f"{command} --data train.npz --devices cuda:900", "[devices]", "cuda")

    def test_a_model_that_is_not_compiled(self):
        self.refuse(2, "train bare.json --data train.npz --save bad.keras", "compile")
        self.refuse(2, "evaluate bare.json --data train.npz", "compiled")
        self.refuse(2, "bench bare.json", "compiled")
