"""Model files that are damaged, or ask for what Lockstep lacks."""

import zipfile

from cli_case import CliTest
from cli_files import CLASSES, COMPILE, classifier, flipped, layer, sequential, with_member


class BadModels(CliTest):
    """Model files that are damaged, or ask for what Lockstep lacks."""

    def refuse_model(self, code, data, *parts, name="bad.keras"):
        self.write(name, data)
        self.refuse(code, f"inspect {name}", name, *parts)
        self.refuse(
            code, f"train {name} --data train.npz --devices cpu:1 --save out.keras", name, *parts
        )

    def with_config(self, config):
        return with_member(self.read("model.keras"), "config.json", config)

    def test_damaged_keras_files(self):
        good = self.read("model.keras")
        for size in (0, 10, len(good) // 3, len(good) - 1):
            self.refuse_model(6, good[:size])
        with zipfile.ZipFile(self.folder / "model.keras") as archive:
            weights, config = archive.read("model.weights.h5"), archive.read("config.json")
        self.refuse_model(6, flipped(good, good.index(weights) + 1000), "model.weights.h5")
        self.refuse_model(6, flipped(good, good.index(config) + 10), "config.json")
        self.refuse_model(6, with_member(good, "model.weights.h5", None), "model.weights.h5")
        self.refuse_model(6, with_member(good, "config.json", None), "config.json")
        short = with_member(good, "model.weights.h5", weights[:500])
        self.refuse_model(6, short, "model.weights.h5")
        self.refuse_model(6, self.with_config(config[:-5]), "config.json")
        self.refuse_model(6, b"text", name="bad.keras")

    def test_damaged_json(self):
        for text in (b"", b"{", b"\xff", classifier(COMPILE)[:-1], classifier(COMPILE) + b"}"):
            self.refuse_model(6, text, name="bad.json")
        for text in (b"null", b"[]", b"{}", b'{"class_name": "Sequential"}'):
            self.write("bad.json", text)
            result = self.execute("inspect bad.json")
            self.assertIn(result.returncode, (2, 3, 6), result.stderr)
            self.assertIn("bad.json", result.stderr)

    def test_layers_that_lockstep_lacks(self):
        lstm = classifier(COMPILE, [layer("LSTM", name="memory", units=3)])
        code = {"class_name": "__lambda__", "config": {"code": "4wEAAAA="}}
        evil = classifier(COMPILE, [layer("Lambda", name="evil", function=code)])
        self.refuse_model(3, lstm, "LSTM", name="bad.json")
        self.refuse_model(3, self.with_config(lstm), "LSTM")
        self.refuse_model(3, evil, "Lambda", "evil", name="bad.json")
        self.refuse_model(3, self.with_config(evil), "Lambda", "evil")

    def test_configurations_that_do_not_hold_together(self):
        zero = sequential([4], [layer("Dense", name="out", units=0)], COMPILE)
        self.refuse_model(2, zero, "out", "units", name="bad.json")
        text = sequential([4], [layer("Dense", name="out", units="many")], COMPILE)
        self.refuse_model(2, text, "units", name="bad.json")

    def test_compile_configurations_of_what_lockstep_lacks(self):
        for key, name in (("optimizer", "adamm"), ("loss", "msee"), ("metrics", ["acuracy"])):
            self.write("bad.json", classifier({**COMPILE, key: name}))
            word = name if isinstance(name, str) else name[0]
            self.refuse(3, "train bad.json --data train.npz --devices cpu:1", word)

    def test_weights_of_another_model(self):
        other = sequential([4], [layer("Dense", name="out", units=CLASSES)], COMPILE)
        self.write("other.json", other)
        self.write("wide.json", classifier(COMPILE).replace(b'"units": 8', b'"units": 9'))
        evaluate = "evaluate wide.json --data train.npz --devices cpu:1 --weights "
        place = ("model.keras", "hidden", "kernel", "[4,8]", "[4,9]")
        self.refuse(2, evaluate + "model.keras", *place)
        self.write("bad.weights.h5", b"no HDF5 at all")
        self.refuse(6, evaluate + "bad.weights.h5", "bad.weights.h5")
