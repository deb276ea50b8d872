#!/usr/bin/env python3
"""Records .h5 files as Keras 3.15.1 writes them in the layout of Keras 2: run with
KERAS_BACKEND=jax, seldom.

Beside this file, in legacy/:

    gan.h5              a whole compiled model after two steps: a generator and a frozen
                        discriminator, each with batch normalization
    frozen.h5           weights alone of that model as it is
    unfrozen.h5         the same weights, with everything trainable: in another order
    gan.weights.h5      the same weights in today's layout, with the optimizer
    gan.json            what they must be read as: [[path, values], ...] of all weights and
                        optimizer variables, a prediction, and the loss of the step after
    hostile_*.h5        files that no Keras writes: see the functions
"""

import json
import pathlib

import h5py
import keras
import numpy as np
from keras.src.legacy.saving import legacy_h5_format

HERE = pathlib.Path(__file__).resolve().parent / "legacy"


def make_generator():
    z = keras.Input((3,), name="z")
    y = keras.layers.Dense(4, use_bias=False, name="g_hidden")(z)
    y = keras.layers.LeakyReLU(0.2, name="g_act")(keras.layers.BatchNormalization(name="g_bn")(y))
    return keras.Model(z, keras.layers.Dense(4, activation="tanh", name="g_out")(y), name="generator")


def make_discriminator():
    """Square kernels: no shape tells one weight from another."""
    x = keras.Input((4,), name="x")
    y = keras.layers.Dense(4, use_bias=False, name="d_hidden")(x)
    y = keras.layers.BatchNormalization(name="d_bn")(y)
    y = keras.layers.Dense(4, use_bias=False, activation="relu", name="d_second")(y)
    return keras.Model(
        x, keras.layers.Dense(1, activation="sigmoid", name="d_out")(y), name="discriminator"
    )


def sequence(shape):
    """-1, -0.375, 0.25, ...: also written down by the test."""
    return (((np.arange(np.prod(shape)) * 5) % 17 - 8) / 8).reshape(shape).astype("float32")


def values(variables):
    return [[v.path, np.asarray(v).astype("float64").ravel().tolist()] for v in variables]


def save_legacy_weights(model, name):
    with h5py.File(HERE / name, "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, model)


def record_gan():
    keras.utils.set_random_seed(1)
    generator, discriminator = make_generator(), make_discriminator()
    for bn in (generator.get_layer("g_bn"), discriminator.get_layer("d_bn")):
        for i, variable in enumerate(bn.weights):
            variable.assign(sequence(variable.shape) / 4 + 1 + i)
    z = keras.Input((3,), name="noise")
    gan = keras.Model(z, discriminator(generator(z)), name="gan")
    discriminator.trainable = False
    gan.compile(keras.optimizers.Adam(0.125, beta_1=0.5), "binary_crossentropy", metrics=["mse"])
    x, y = sequence((8, 3)), (np.arange(8) % 2).astype("float32").reshape(8, 1)
    gan.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    gan.save(HERE / "gan.h5")
    gan.save_weights(HERE / "gan.weights.h5")
    save_legacy_weights(gan, "frozen.h5")
    recorded = {
        "weights": values(gan.weights),
        # The optimizer loses its variables' paths where it is saved as .h5.
        "optimizer": values(gan.optimizer.variables),
        "prediction": gan.predict(x, verbose=0).astype("float64").ravel().tolist(),
    }
    discriminator.trainable = True
    save_legacy_weights(gan, "unfrozen.h5")
    discriminator.trainable = False
    recorded["next_loss"] = float(gan.train_on_batch(x[:4], y[:4])[0])
    (HERE / "gan.json").write_text(json.dumps(recorded) + "\n", encoding="utf-8")


def dense_file(name, change):
    """One Dense layer of 2 by 2, sound but for one thing."""
    with h5py.File(HERE / name, "w") as file:
        file.attrs["layer_names"] = [b"out"]
        group = file.create_group("out")
        group.attrs["weight_names"] = [b"out/kernel:0", b"out/bias:0"]
        group.create_dataset("out/kernel:0", data=sequence((2, 2)))
        group.create_dataset("out/bias:0", data=sequence((2,)))
        change(file)


def record_hostile():
    def huge(file):
        """Four GiB that are nowhere: chunks that were never written."""
        del file["out/out/kernel:0"]
        file["out"].create_dataset("out/kernel:0", (2**15, 2**15), "f4", chunks=(64, 64))

    def many(file):
        """A small dataset under many names."""
        names = [f"w{i}".encode() for i in range(64)]
        for name in names:
            file["out"][name.decode()] = file["out/out/kernel:0"]
        file["out"].attrs["weight_names"] = names

    def numbers(file):
        file["out"].attrs["weight_names"] = [1, 2]

    def cycle(file):
        """A group that holds itself."""
        file["out/again"] = file["out"]
        file["out"].attrs["weight_names"] = [b"again/again/out/kernel:0", b"again/out/bias:0"]

    def soft(file):
        del file["out/out/bias:0"]
        file["out/out/bias:0"] = h5py.SoftLink("/out/out/kernel:0")

    def external(file):
        del file["out/out/bias:0"]
        file["out/out/bias:0"] = h5py.ExternalLink("other.h5", "/bias")

    def texts(file):
        """Weights that are text."""
        del file["out/out/bias:0"]
        file["out/out/bias:0"] = np.array([b"one", b"two"])

    for change in (huge, many, numbers, cycle, soft, external, texts):
        dense_file(f"hostile_{change.__name__}.h5", change)


def main():
    HERE.mkdir(exist_ok=True)
    record_gan()
    record_hostile()


if __name__ == "__main__":
    main()
