#!/usr/bin/env python3
"""Records what Keras's layers and activations compute, for layers_test.cpp.

    python3 record_layers.py > layers.json      (Keras 3.15.1, any backend)

Variables and inputs are the numbers of `sequence`, which the test makes for itself.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras import layers as L


def sequence(shape, start=0):
    """-1, -0.875, ... 1: multiples of 1/8, so that sums are exact."""
    count = int(np.prod(shape))
    return (((np.arange(count) * 5 + start * 3) % 17 - 8) / 8).astype("float32").reshape(shape)


def numbers(array):
    return [float(f"{value:.9g}") for value in np.asarray(array, "float64").ravel()]


def record(layer, *shapes):
    inputs = [keras.Input(shape) for shape in shapes]
    output = layer(inputs if len(inputs) > 1 else inputs[0])
    model = keras.Model(inputs, output)
    for i, variable in enumerate(layer.variables):
        values = sequence(variable.shape, i)
        variable.assign(np.abs(values) + 0.5 if "variance" in variable.name else values)
    result = model([sequence((2, *shape), i) for i, shape in enumerate(shapes)])
    saved = keras.saving.serialize_keras_object(layer)
    saved.pop("build_config", None)
    return {
        "layer": saved,
        "inputs": [list(shape) for shape in shapes],
        # A seed generator's state is no weight: Keras does not save it either.
        "variables": [[v.name, list(v.shape)] for v in layer.variables if v.name != "seed_generator_state"],
        "shape": list(result.shape),
        "values": numbers(result),
    }


def all_layers():
    image = (5, 4, 2)
    yield L.Dense(3, activation="tanh"), (4,)
    yield L.Dense(2, use_bias=False), (2, 3)
    yield L.Dense(3, activation=L.LeakyReLU(negative_slope=0.1)), (2,)
    yield L.Conv2D(2, 3, activation="relu"), image
    yield L.Conv2D(3, (2, 4), strides=(2, 1), padding="same"), image
    yield L.Conv2D(1, (3, 2), dilation_rate=(2, 2), use_bias=False), image
    yield L.Conv2D(4, 2, groups=2, padding="same"), image
    yield L.Conv2DTranspose(3, 3, strides=2, padding="same", activation="relu"), image
    yield L.Conv2DTranspose(3, (4, 2), strides=(2, 1)), image
    yield L.Conv2DTranspose(2, 2, strides=(3, 4), use_bias=False), image
    yield L.Conv2DTranspose(2, 3, strides=2, padding="same", output_padding=(0, 1)), image
    yield L.Conv2DTranspose(1, 4, strides=3, padding="valid", output_padding=2), image
    yield L.DepthwiseConv2D(2, depth_multiplier=2, strides=(2, 2), padding="same"), image
    yield L.MaxPooling2D((2, 3), strides=(2, 1), padding="same"), image
    yield L.MaxPooling2D(), image
    yield L.AveragePooling2D(3, strides=2, padding="same"), image
    yield L.AveragePooling2D((2, 1)), image
    yield L.GlobalMaxPooling2D(), image
    yield L.GlobalAveragePooling2D(keepdims=True), image
    yield L.BatchNormalization(epsilon=0.01), (3,)
    yield L.BatchNormalization(axis=1, scale=False), (3, 2)
    yield L.BatchNormalization(center=False), (2, 2, 3)
    yield L.Dropout(0.5), (3,)
    yield L.ActivityRegularization(l1=0.1), (3,)
    yield L.Activation("swish"), (9,)
    yield L.ReLU(max_value=0.5, negative_slope=0.25, threshold=0.125), (9,)
    yield L.ReLU(max_value=6), (9,)
    yield L.LeakyReLU(negative_slope=0.2), (9,)
    yield L.ELU(alpha=0.5), (9,)
    yield L.Softmax(axis=1), (3, 2)
    yield L.Flatten(), (2, 1, 3)
    yield L.Reshape((-1, 2)), (4, 3)
    yield L.Permute((2, 1)), (2, 3)
    yield L.ZeroPadding2D(((1, 0), (2, 1))), (2, 1, 2)
    yield L.Cropping2D(((1, 0), (0, 2))), (3, 4, 1)
    yield L.UpSampling2D((2, 3)), (2, 3, 2)
    yield L.UpSampling2D((1, 2), interpolation="bilinear"), (2, 3, 2)
    yield L.UpSampling2D(3, interpolation="bilinear"), (1, 3, 2)
    yield L.UpSampling2D((4, 2), interpolation="bilinear"), (3, 2, 1)
    yield L.Rescaling(2.0, offset=-0.5), (4,)
    yield L.Add(), (2, 3), (2, 3), (2, 3)
    yield L.Subtract(), (3,), (3,)
    yield L.Multiply(), (2, 2, 3), (3,)
    yield L.Average(), (3,), (3,), (3,)
    yield L.Maximum(), (3,), (3,)
    yield L.Minimum(), (2, 3), (1, 3)
    yield L.Concatenate(), (2, 1), (2, 3)
    yield L.Concatenate(axis=1), (1, 2), (2, 2)


def activations():
    x = np.concatenate([np.linspace(-4, 4, 17), [-30.0, 30.0, 0.1]]).astype("float32")
    names = ("celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_tanh "
             "leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu "
             "soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax "
             "squareplus tanh tanh_shrink")
    for name in names.split():
        values = keras.activations.get(name)(keras.ops.convert_to_tensor(x[None, :]))
        yield {"name": name, "values": numbers(values)}


def main():
    x = np.concatenate([np.linspace(-4, 4, 17), [-30.0, 30.0, 0.1]])
    json.dump({"keras": keras.__version__,
               "layers": [record(layer, *shapes) for layer, *shapes in all_layers()],
               "activation_inputs": numbers(x.astype("float32")),
               "activations": list(activations())}, fp=os.sys.stdout, indent=None)


main()
