"""Data that does not fit the model, or is damaged."""

import gzip

from cli_case import CliTest
from cli_files import (
    CLASSES,
    FEATURES,
    ROWS,
    features,
    flipped,
    floats,
    idx,
    image_classifier,
    ints,
    labels,
    npy,
    npz,
)


class BadData(CliTest):
    """Data that does not fit the model, or is damaged."""

    def refuse_data(self, code, data, *parts, command="train model.json", progress=False):
        name = data if isinstance(data, str) else "bad.npz"
        if not isinstance(data, str):
            self.write(name, data)
        words = f"{command} --data {name} --devices cpu:1 --batch-size 5 "
        words += "--shuffle off --save out.keras" if command.startswith("train") else ""
        self.refuse(code, words, *parts, progress=progress)

    def test_shapes(self):
        self.refuse_data(2, npz({"x": features(width=5), "y": labels()}), "x/in", "[4]", "[5]")
        square = floats((ROWS, 2, 2), [0] * 48)
        self.refuse_data(2, npz({"x": square, "y": labels()}), "x/in", "[2,2]")
        self.refuse_data(2, npz({"x": features(), "y": labels(rows=11)}), "bad.npz", "12", "11")
        self.refuse_data(2, npz({"x": features(), "y": ints((), [1])}), "bad.npz", "y")
        self.refuse_data(2, npz({"x": features(), "y": floats((ROWS, 2), [0] * 24)}), "out")
        two = {"x": features(), "y": labels(), "sample_weight": floats((ROWS, 2), [1] * 24)}
        self.refuse_data(2, npz(two), "out")

    def test_keys(self):
        self.refuse_data(2, npz({"inputs": features(), "y": labels()}), "bad.npz", '"inputs"')
        self.refuse_data(2, npz({"y": labels()}), "bad.npz", "x")
        self.refuse_data(2, npz({"x": features()}), "out")
        two = {"x/in": features(), "x/other": features(), "y": labels()}
        self.refuse_data(2, npz(two), "x/other", "in")
        two = {"x": features(), "y/out": labels(), "y/other": labels()}
        self.refuse_data(2, npz(two), "y/other", "out")

    def test_nothing(self):
        none = npz({"x": floats((0, FEATURES), []), "y": ints((0,), [])})
        self.refuse_data(2, none, "data")
        self.refuse_data(2, none, "data", command="evaluate model.keras")

    def test_labels(self):
        for wrong in (CLASSES, -1, 1000000):
            bad = npz({"x": features(), "y": labels(wrong=(7, wrong))})
            place = ("[y/out]", f"[0, {CLASSES})", str(wrong), "row 2 of batch 1")
            self.refuse_data(2, bad, *place, progress=True)
            self.refuse_data(2, bad, *place, command="evaluate model.keras")

    def test_an_old_output_stays_when_training_fails(self):
        self.write("out.keras", b"old")
        bad = npz({"x": features(), "y": labels(wrong=(11, 99))})
        self.refuse_data(2, bad, "[y/out]", progress=True)
        self.assertEqual(self.read("out.keras"), b"old")
        (self.folder / "out.keras").unlink()

    def test_damaged_npz(self):
        good = npz({"x": features(), "y": labels()})
        for size in (0, 1, 100, len(good) // 2, len(good) - 1):
            self.refuse_data(6, good[:size], "bad.npz")
        self.refuse_data(6, flipped(good, good.index(features()) + 150), "bad.npz", "x.npy")
        self.refuse_data(6, b"no zip archive at all", "bad.npz")

    def test_damaged_npy(self):
        def refuse(code, data, *parts):
            self.refuse_data(code, npz({"x": data, "y": labels()}), "bad.npz", "x", *parts)

        values = b"\0" * (4 * ROWS * FEATURES)
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
        refuse(6, b"")
        refuse(6, b"no npy at all")
        refuse(6, npy((ROWS, FEATURES), "<f4", values[:-1]))
        refuse(6, npy((ROWS, FEATURES), "<f4", values + b"\0"))
        refuse(6, npy(None, None, values, header % "(4294967296, 4)"))
        refuse(6, npy(None, None, values, header % "(4294967296, 4294967296)"))
        refuse(6, npy(None, None, values, header % "(9223372036854775807, 9223372036854775807)"))
        refuse(6, npy(None, None, values, header % "(99999999999999999999999, 4)"))
        refuse(6, npy(None, None, values, header % "(-1, 4)"))
        refuse(6, npy(None, None, values, header % "(12, 4"))
        refuse(3, npy((ROWS, FEATURES), "|O", values))
        refuse(3, npy((ROWS, FEATURES), "<c8", 2 * values))

    def test_damaged_idx(self):
        images, classes = idx(8, (6, 2, 2), bytes(24)), idx(8, (6,), bytes(6))
        self.write("image.json", image_classifier())
        command = "train image.json"
        for bad, part in (
            (images[:-1], "images"),
            (images + b"\0", "images"),
            (b"\1" + images[1:], "images"),
            (images[:6], "images"),
            (b"", "images"),
            (idx(7, (6, 2, 2), bytes(24)), "images"),
            (idx(8, (0xFFFFFFFF, 2, 2), bytes(24)), "images"),
        ):
            self.write("idx/train-images-idx3-ubyte", bad)
            self.write("idx/train-labels-idx1-ubyte", classes)
            self.refuse_data(6, "idx:idx", f"train-{part}-idx3-ubyte", command=command)
        self.write("idx/train-images-idx3-ubyte", images)
        self.write("idx/train-labels-idx1-ubyte", classes[:-2])
        self.refuse_data(6, "idx:idx", "train-labels-idx1-ubyte", command=command)
        self.write("idx/train-labels-idx1-ubyte", idx(8, (5,), bytes(5)))
        self.refuse_data(2, "idx:idx", "6", "5", command=command)
        (self.folder / "idx/train-labels-idx1-ubyte").unlink()
        self.write("idx/train-labels-idx1-ubyte.gz", gzip.compress(classes)[:-5])
        self.refuse_data(6, "idx:idx", "train-labels-idx1-ubyte.gz", command=command)
