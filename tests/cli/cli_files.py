"""Files for the tests of the command line, written by hand: npy, npz, idx, model JSON."""

import io
import json
import struct
import zipfile

CLASSES, FEATURES, ROWS = 3, 4, 12


def npy(shape, descr, data, header=None):
    """A .npy file of version 1; `header` replaces the one that fits."""
    text = header or repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def floats(shape, values):
    return npy(shape, "<f4", struct.pack(f"<{len(values)}f", *values))


def ints(shape, values):
    return npy(shape, "<i4", struct.pack(f"<{len(values)}i", *values))


def read_npy(data):
    """(shape, values) of a .npy file of f4, f8 or i4."""
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10 : 10 + size], {})  # our own program's output
    code = {"<f4": "f", "<f8": "d", "<i4": "i"}[header["descr"]]
    count = (len(data) - 10 - size) // struct.calcsize(code)
    return header["shape"], list(struct.unpack(f"<{count}{code}", data[10 + size :]))


def npz(arrays):
    """An .npz file of the arrays' .npy bytes by key."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for key, data in arrays.items():
            archive.writestr(zipfile.ZipInfo(key + ".npy"), data)
    return out.getvalue()


def features(rows=ROWS, width=FEATURES):
    values = [((i * 5) % 17 - 8) / 8 for i in range(rows * width)]
    return floats((rows, width), values)


def labels(rows=ROWS, wrong=None):
    values = [i % CLASSES for i in range(rows)]
    if wrong:
        values[wrong[0]] = wrong[1]
    return ints((rows,), values)


def idx(code, extents, data):
    return bytes([0, 0, code, len(extents)]) + struct.pack(f">{len(extents)}I", *extents) + data


def layer(class_name, **config):
    return {"module": "keras.layers", "class_name": class_name, "config": config}


def sequential(shape, layers, compile_config=None):
    first = layer("InputLayer", batch_shape=[None, *shape], dtype="float32", name="in")
    model = {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": "small", "layers": [first, *layers]},
    }
    if compile_config:
        model["compile_config"] = compile_config
    return json.dumps(model).encode()


COMPILE = {
    "optimizer": "adam",
    "loss": "sparse_categorical_crossentropy",
    "metrics": ["accuracy"],
}


def classifier(compile_config=None, extra=()):
    return sequential(
        [FEATURES],
        [
            layer("Dense", name="hidden", units=8, activation="tanh"),
            *extra,
            layer("Dense", name="out", units=CLASSES, activation="softmax"),
        ],
        compile_config,
    )


def image_classifier():
    return sequential(
        [2, 2, 1],
        [
            layer("Flatten", name="flat"),
            layer("Dense", name="out", units=CLASSES, activation="softmax"),
        ],
        COMPILE,
    )


def with_member(archive, name, content):
    """The zip archive with one member's content replaced; left out for None."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            data = content if member == name else old.read(member)
            if data is not None:
                new.writestr(zipfile.ZipInfo(member), data)
    return out.getvalue()


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
