#!/usr/bin/env python3
"""What Lockstep writes is read by Keras itself, and the other way round:

    LOCKSTEP_KERAS_PYTHON=/path/to/python tests/io/keras_reads.py LOCKSTEP

Names a Python that has Keras 3; without one there is nothing to ask. Weights go by `lockstep convert` from .keras into .h5 and .weights.h5, which Keras loads,
and from Keras's own .h5, of a whole model and of weights alone, back into .keras.
"""

import os
import pathlib
import subprocess
import sys
import tempfile



def main(lockstep, folder):
    import h5py
    import keras
    import numpy as np
    from keras.src.legacy.saving import legacy_h5_format

    def part(name, width):
        x = keras.Input((4,), name=f"{name}_x")
        y = keras.layers.Dense(4, use_bias=False, name=f"{name}_hidden")(x)
        y = keras.layers.BatchNormalization(name=f"{name}_bn")(y)
        return keras.Model(x, keras.layers.Dense(width, name=f"{name}_out")(y), name=name)

    def gan(frozen):
        z = keras.Input((4,), name="z")
        critic = part("critic", 1)
        critic.trainable = not frozen
        model = keras.Model(z, critic(part("generator", 4)(z)), name="gan")
        model.compile("adam", keras.losses.MeanSquaredError())
        for i, weight in enumerate(model.weights):
            weight.assign(np.arange(np.prod(weight.shape)).reshape(weight.shape) / 8 + i)
        return model

    def convert(*words):
        subprocess.run([lockstep, "convert", *map(str, words)], check=True)

    def same(model, want, what):
        for weight, value in zip(model.weights, want):
            if not np.array_equal(np.asarray(weight), value):
                raise AssertionError(f"{what}: {weight.path} differs")
        print(f"{what}: {len(want)} weights are the same")

    for frozen in (False, True):
        model = gan(frozen)
        want = [np.asarray(weight).copy() for weight in model.weights]
        kind = "frozen" if frozen else "unfrozen"
        model.save(folder / "m.keras")
        for ending in ("h5", "hdf5", "weights.h5"):
            convert(folder / "m.keras", folder / f"ours.{ending}")
            other = gan(frozen)
            for weight in other.weights:
                weight.assign(np.zeros(weight.shape))
            other.load_weights(folder / f"ours.{ending}")
            same(other, want, f"Keras reads our .{ending}, {kind}")
        model.save(folder / "keras.h5")
        model.save_weights(folder / "keras.weights.h5")
        with h5py.File(folder / "keras_weights.h5", "w") as file:
            legacy_h5_format.save_weights_to_hdf5_group(file, model)
        convert(folder / "keras.h5", folder / "back.keras")
        same(keras.saving.load_model(folder / "back.keras"), want, f"we read Keras's .h5, {kind}")
        for weights in (folder / "keras.weights.h5", folder / "keras_weights.h5"):
            for weight in model.weights:
                weight.assign(np.zeros(weight.shape))
            model.save(folder / "m.keras")
            convert(folder / "m.keras", folder / "back.keras", "--weights", weights)
            same(
                keras.saving.load_model(folder / "back.keras"),
                want,
                f"we read Keras's weights in {weights.name}, {kind}",
            )
    return 0


if __name__ == "__main__":
    python = os.environ.get("LOCKSTEP_KERAS_PYTHON")
    if not python:
        sys.exit("LOCKSTEP_KERAS_PYTHON must name a Python with Keras")
    if os.path.abspath(sys.executable) != os.path.abspath(python):
        os.execv(python, [python, "-B", *sys.argv])
    with tempfile.TemporaryDirectory(prefix="lockstep-keras-") as holder:
        sys.exit(main(os.path.abspath(sys.argv[1]), pathlib.Path(holder)))
