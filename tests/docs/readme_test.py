#!/usr/bin/env python3
"""Every C++ block of the README compiles: readme_test.py ROOT COMPILER."""

import pathlib
import re
import subprocess
import sys
import tempfile


def main(root, compiler):
    text = (pathlib.Path(root) / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```cpp\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if not blocks:
        sys.exit("README.md holds no C++ block")
    with tempfile.TemporaryDirectory() as folder:
        for number, block in enumerate(blocks):
            source = pathlib.Path(folder) / f"readme_{number}.cpp"
            source.write_text(block, encoding="utf-8")
            options = ["-std=c++20", "-fsyntax-only", "-Wall", "-I", root]
            subprocess.run([compiler, *options, str(source)], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
