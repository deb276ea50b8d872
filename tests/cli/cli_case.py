"""A folder with a model and data, and the program that runs in it."""

import pathlib
import subprocess
import tempfile
import unittest

from cli_files import COMPILE, classifier, features, labels, npz

# Set by cli_test.py.
LOCKSTEP = "lockstep"


class CliTest(unittest.TestCase):
    """Runs the program in a folder that holds a model and data."""

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="lockstep-cli-")
        cls.folder = pathlib.Path(cls.holder.name)
        cls.folder.chmod(0o755)
        cls.write("model.json", classifier(COMPILE))
        cls.write("bare.json", classifier())
        cls.write("train.npz", npz({"x": features(), "y": labels()}))
        result = cls.execute(
            "train model.json --data train.npz --devices cpu:1 --batch-size 4 --save model.keras"
        )
        if result.returncode != 0:
            raise RuntimeError(result.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def write(cls, name, data):
        path = cls.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    @classmethod
    def read(cls, name):
        return (cls.folder / name).read_bytes()

    @classmethod
    def execute(cls, words, **options):
        words = words.split() if isinstance(words, str) else words
        return subprocess.run(
            [LOCKSTEP, *words],
            cwd=cls.folder,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=60,
            check=False,
            **options,
        )

    def run_well(self, words):
        """What a command that succeeds prints."""
        result = self.execute(words)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stderr}")
        self.assertEqual(result.stderr, "", words)
        return result.stdout

    def files(self):
        return {
            str(p.relative_to(self.folder)): p.stat().st_mtime_ns if p.is_file() else None
            for p in self.folder.rglob("*")
        }

    def refuse(self, code, words, *parts, progress=False, **options):
        """The command fails with `code`, says all `parts` on stderr, and leaves nothing."""
        with self.subTest(words=words):
            before = self.files()
            result = self.execute(words, **options)
            self.assertEqual(result.returncode, code, result.stderr)
            for part in parts:
                self.assertIn(part, result.stderr)
            self.assertTrue(result.stderr.endswith("\n"))
            self.assertEqual(result.stderr.count("\n"), 1, "one line")
            self.assertTrue(result.stderr.replace("\n", "").isprintable(), ascii(result.stderr))
            if not progress:  # a training that had begun
                self.assertEqual(result.stdout, "")
            self.assertEqual(self.files(), before)
