#!/usr/bin/env python3
"""Kills a training with SIGKILL at random moments and goes on with it: soak.py RESUME_SOAK KILLS.

Every training that comes to its end must have left what an unbroken one leaves: weights, optimizer,
history, CSV rows, the best model's file and TensorBoard's scalars.
"""

import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time


def attempt(program, folder, devices, kill_after=None):
    """True when the training came to its end."""
    command = [program, str(folder), f"cpu:{devices}", str(folder / "outcome")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        errors = process.communicate(timeout=kill_after)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}\n{errors}")
    return True


def main():
    program, kills_wanted = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    moments = random.Random(seed)
    kills = trainings = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        start = time.monotonic()
        attempt(program, folder / "unbroken", 2)
        seconds = time.monotonic() - start
        wanted = (folder / "unbroken/outcome").read_text()
        while kills < kills_wanted:
            broken = folder / "broken"
            shutil.rmtree(broken, ignore_errors=True)
            broken.mkdir()
            while not attempt(program, broken, moments.randint(1, 3),
                              moments.uniform(0.1, 1.0) * seconds):
                kills += 1
            trainings += 1
            came = (broken / "outcome").read_text()
            if came != wanted:
                for number, (a, b) in enumerate(zip(wanted.split("\n"), came.split("\n")), 1):
                    if a != b:
                        sys.exit(f"line {number} of the outcome is {b!r}: {a!r} when unbroken")
                sys.exit("the outcomes have different lengths")
    print(f"{kills} kills in {trainings} trainings: every outcome equal to the unbroken one's")


if __name__ == "__main__":
    main()
