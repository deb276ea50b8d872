#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, tests/fuzz/corpus/<target>/. Needs numpy and h5py."""
import gzip
import io
import pathlib
import struct
import zipfile

import h5py
import numpy as np

CORPUS = pathlib.Path(__file__).parent / "corpus"
NOON = (2020, 1, 1, 12, 0, 0)


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def archive(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(name, NOON), data, method)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def hdf5(fill, libver):
    out = io.BytesIO()
    with h5py.File(out, "w", libver=libver) as f:
        fill(f)
    return out.getvalue()


def weights(f):
    group = f.create_group("g/vars")
    group.attrs["name"] = "dense"
    group["0"] = np.arange(6, dtype="f4").reshape(2, 3)
    f["h"] = np.array([True, False])
    f.attrs["layer_names"] = [b"a", b"bc"]


def packed(f):
    f.create_dataset("c", data=np.arange(40, dtype=">i2"), chunks=(8,), compression="gzip",
                     shuffle=True, fletcher32=True)
    f.attrs["layer_names0"] = np.array([b"a", b"bc"])
    f["c"].attrs["name"] = np.bytes_(b"fixed")


def masked_crc(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


put("json", "config", b'{"class_name": "Dense", "config": {"units": 3, "rate": 1e-07, "x": [NaN, -Infinity]}}')
put("json", "text", b'["\\u00e9\\ud83d\\ude00", "\\"", true, null, {}, [], -0.5E+3, 18446744073709551615]')
put("zip", "stored", archive({"a.json": b"{}", "d/b": b"12345"}, zipfile.ZIP_STORED))
put("zip", "deflated", archive({"a": b"x" * 500}, zipfile.ZIP_DEFLATED))
put("npz", "f4.npy", npy(np.arange(6, dtype="<f4").reshape(2, 3)))
put("npz", "f2_fortran.npy", npy(np.asfortranarray(np.ones((2, 2), ">f2"))))
put("npz", "stored.npz", archive({"a.npy": npy(np.array(True))}, zipfile.ZIP_STORED))
put("npz", "deflated.npz", archive({"b.npy": npy(np.zeros((3, 0), "u8"))}, zipfile.ZIP_DEFLATED))
put("hdf5", "weights", hdf5(weights, "earliest"))
put("hdf5", "weights_latest", hdf5(weights, "latest"))
put("hdf5", "packed", hdf5(packed, "earliest"))
put("hdf5", "packed_latest", hdf5(packed, "latest"))
version = b"\x09\0\0\0\0\0\0\x04\x40\x1a\x0dbrain.Event:2"
scalar = b"\x09\0\0\0\0\0\0\xf8\x3f\x10\x07\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e"
put("events", "file", record(version) + record(scalar))
put("events", "torn", record(version) + record(scalar)[:20])
put("events", "message", scalar)
images = b"\0\0\x08\x03" + struct.pack(">3I", 2, 2, 3) + bytes(range(12))
put("idx", "images", images)
put("idx", "floats", b"\0\0\x0d\x01" + struct.pack(">I2f", 2, 0.5, -1))
put("idx", "images.gz", gzip.compress(images, mtime=0))
put("idx", "two_members.gz", gzip.compress(images[:9], mtime=0) + gzip.compress(images[9:], mtime=0))
