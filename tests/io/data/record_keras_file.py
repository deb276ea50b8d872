#!/usr/bin/env python3
"""Records a small trained model as Keras 3.15.1 saves it: run with KERAS_BACKEND=jax, seldom.

Beside this file: trained.keras, trained.weights.h5 and trained.json, which holds what the files
must be read as: [[path, values], ...] of all weights and optimizer variables, and a prediction.
"""

import json
import pathlib

import keras
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def make_model():
    """A shared layer, a nested model used twice, batch normalization, a constraint, a penalty."""
    inner_in = keras.Input((4,), name="inner_in")
    hidden = keras.layers.Dense(4, activation="relu", kernel_constraint="max_norm", name="hidden")
    inner = keras.Model(inner_in, keras.layers.BatchNormalization()(hidden(inner_in)), name="inner")
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = keras.layers.Dense(4, kernel_regularizer="l2", name="shared")
    joined = keras.layers.Concatenate()([inner(shared(a)), inner(shared(b))])
    out = keras.layers.Dense(2, activation="softmax", name="out")(joined)
    return keras.Model([a, b], out, name="trained")


def sequence(shape):
    """-1, -0.375, 0.25, ...: also written down by the test."""
    return (((np.arange(np.prod(shape)) * 5) % 17 - 8) / 8).reshape(shape).astype("float32")


def values(variables):
    return [[v.path, np.asarray(v).astype("float64").ravel().tolist()] for v in variables]


def main():
    keras.utils.set_random_seed(1)
    model = make_model()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x = {"a": sequence((8, 3)), "b": -sequence((8, 3))}
    model.fit(x, np.arange(8) % 2, batch_size=4, epochs=2, verbose=0)
    model.save(HERE / "trained.keras")
    model.save_weights(HERE / "trained.weights.h5")
    recorded = {
        "weights": values(model.weights),
        "optimizer": values(model.optimizer.variables),
        "prediction": model.predict(x, verbose=0).astype("float64").ravel().tolist(),
    }
    (HERE / "trained.json").write_text(json.dumps(recorded) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
