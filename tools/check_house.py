#!/usr/bin/env python3
"""Checks the house rules that a compiler does not: run from anywhere, prints every breach.

1. An include follows an arrow: a room includes itself and the rooms ARROWS names for it.
2. No file of ours is longer than MAX_LINES.
3. Names of foreign libraries stand only in the rooms that wrap them.
4. lockstep.h and CMakeLists.txt name the same version.
"""

import pathlib
import re
import sys

# Room -> rooms whose headers it may include besides its own. docs/architecture.md draws it.
ARROWS = {
    "base": [],
    "tensor": ["base"],
    "formats": ["tensor"],
    "ir": ["tensor"],
    "autodiff": ["ir"],
    "passes": ["ir"],
    "nn": ["ir"],
    "backend": ["passes"],
    "towers": ["backend"],
    "data": ["formats"],
    "io": ["nn", "formats"],
    "train": ["autodiff", "nn", "towers", "data", "io"],
    "zoo": ["nn"],
    "cli": ["train", "zoo"],
}

MAX_LINES = 600

# What may stand only in files whose path matches; None: in no file.
FOREIGN = {
    r"\bdnnl(::|_[a-z])|\bDNNL_[A-Z]|<oneapi/dnnl": r"lockstep/backend/onednn/",
    r"\bhwy::|\bHWY_[A-Z]|[<\"]hwy/": r"lockstep/backend/onednn/",
    r"\bH5[A-Z]{1,2}[a-z]\w*\(|[<\"]hdf5": r"lockstep/formats/hdf5",
    r"\bzip_(open|close|fopen|fread|source|stat|file)\w*\(|<zip\.h>": r"lockstep/formats/zip",
    # Words go to the caller's sink; only fit shows its progress by itself, as Keras's does.
    r"\b(std::(cout|cerr|clog)|printf\()": r"lockstep/(cli/|base/(log|activity)\.cpp|train/progress\.cpp)|tests/|examples/",
    r"\bPJRT_[A-Z]": r"(lockstep|tests)/(backend/)?pjrt/",
    r"\bstablehlo\.[a-z]": r"(lockstep|tests)/(backend/)?stablehlo/|tests/pjrt/",
}

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {".h", ".cpp", ".def", ".inc"}
TEXTS = SOURCES | {".py", ".sh", ".cmake", ".txt"}
INCLUDE = re.compile(r'^\s*#include "lockstep/(?:([^/"]+)/)?[^"]*"')


def reachable(room):
    """The rooms that `room` may include: everything down its arrows."""
    found, open_rooms = {room}, [room]
    while open_rooms:
        for below in ARROWS[open_rooms.pop()]:
            if below not in found:
                found.add(below)
                open_rooms.append(below)
    return found


def check_includes(name, lines):
    parts = name.split("/")
    if parts[0] != "lockstep" or len(parts) < 3:
        return  # tests, examples and lockstep/lockstep.h may include anything
    room = parts[1]
    if room not in ARROWS:
        yield f"{name}: room {room!r} has no row in ARROWS"
        return
    allowed = reachable(room)
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found and found[1] not in allowed:
            yield f"{name}:{number}: {room} must not include {found[1] or 'lockstep.h'}"


def check_length(name, lines):
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines, at most {MAX_LINES} are allowed"


def check_foreign(name, lines):
    for pattern, home in FOREIGN.items():
        if home and re.search(home, name):
            continue
        for number, line in enumerate(lines, 1):
            code = line.split("//", 1)[0]
            found = re.search(pattern, code)
            if found:
                yield f"{name}:{number}: {found[0]!r} may stand only in {home}"


def check_version():
    header = (ROOT / "lockstep/lockstep.h").read_text(encoding="utf-8")
    ours = ".".join(re.findall(r"#define LOCKSTEP_VERSION_\w+ (\d+)", header))
    cmake = re.search(r"VERSION (\d\S*) LANG", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    if not cmake or cmake[1] != ours:
        yield f"lockstep/lockstep.h: version {ours}, but CMakeLists.txt says {cmake and cmake[1]}"


def our_files():
    for folder in ("lockstep", "tests", "examples", "tools", "scripts", "cmake"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXTS:
                yield path


def main():
    breaches, count = list(check_version()), 0
    for path in our_files():
        name = path.relative_to(ROOT).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        count += 1
        breaches += check_length(name, lines)
        if path.suffix in SOURCES:
            breaches += check_includes(name, lines)
            breaches += check_foreign(name, lines)
    for breach in breaches:
        print(breach)
    print(f"{count} files, {len(breaches)} breaches of the house rules")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
