#!/usr/bin/env python3
"""Lets writes of a training fail: faults.py RESUME_SOAK SHIM STRIDE.

For every STRIDE-th operation on files (open, write, fsync, rename, mkdir, truncate) the training is
run three times anew: that operation fails with EIO; it and all later ones fail with ENOSPC; the power
fails there, so that only what was synced is left. Each time training either comes to its end or stops
with a word, and when it is gone on with, the outcome is the unbroken one's.
"""

import errno
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

EPOCHS = "2"


def run(program, folder, fault=None):
    command = [program, str(folder / "work"), "cpu:1", str(folder / "work/outcome"), EPOCHS]
    environment = dict(os.environ)
    if fault:
        environment |= {"FAULT_FOLDER": str(folder / "work"), "FAULT_SHADOW": str(folder / "shadow")}
        environment |= fault
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)


def after_loss_of_power(shadow, inode, to):
    """What the disk holds: folders with their synced entries, files with their synced content."""
    to.mkdir()
    entries = shadow / f"d{inode}"
    for line in entries.read_text().splitlines() if entries.exists() else []:
        child, name = line.split(" ", 1)
        if child[0] == "d":
            after_loss_of_power(shadow, child[1:], to / name)
        elif (shadow / child).exists():
            shutil.copy(shadow / child, to / name)
        else:
            (to / name).touch()


def check(program, shim, wanted, at, kind):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "work").mkdir()
        (folder / "shadow").mkdir()
        reason, count = {"EIO": (errno.EIO, 1), "ENOSPC": (errno.ENOSPC, 10**9), "power": (0, 1)}[kind]
        fault = {"LD_PRELOAD": shim, "FAULT_AT": str(at), "FAULT_ERRNO": str(reason),
                 "FAULT_COUNT": str(count)}
        result = run(program, folder, fault)
        where = f"{kind} at operation {at}"
        if kind == "power":
            if result.returncode != 99:
                return f"{where}: exit {result.returncode}, not the shim's\n{result.stderr}"
            inode = (folder / "work").stat().st_ino
            (folder / "work").rename(folder / "lost")
            after_loss_of_power(folder / "shadow", inode, folder / "work")
        elif result.returncode not in (0, 2, 5) or (result.returncode and not result.stderr):
            return f"{where}: exit {result.returncode} {result.stderr!r}"
        again = run(program, folder)
        if again.returncode != 0:
            return f"{where}: exit {again.returncode} when gone on with: {again.stderr}"
        if (folder / "work/outcome").read_text() != wanted:
            return f"{where}: another outcome\n{result.stderr}\n{again.stderr}"
    return None


def main():
    program, shim, stride = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "work").mkdir()
        (folder / "shadow").mkdir()
        result = run(program, folder, {"LD_PRELOAD": shim})
        if result.returncode != 0:
            sys.exit(result.stderr)
        operations = int((folder / "shadow/count").read_text())
        wanted = (folder / "work/outcome").read_text()
    failures = tried = 0
    for kind in ("power", "EIO", "ENOSPC"):
        for at in range(1, operations + 1, stride):
            tried += 1
            problem = check(program, shim, wanted, at, kind)
            if problem:
                failures += 1
                print(problem)
    if failures:
        sys.exit(f"{failures} of {tried} faults were not survived")
    print(f"{tried} faults among {operations} operations: all survived")


if __name__ == "__main__":
    main()
