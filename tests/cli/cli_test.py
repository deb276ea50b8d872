#!/usr/bin/env python3
"""The lockstep program as its users meet it: cli_test.py LOCKSTEP [unittest arguments].

Every command once, and what users get wrong: the exit code says what kind of failure it was, the
message names the exact place on stderr, stdout stays empty, and no file is left half written.
"""

import os
import sys
import unittest

import cli_case
from commands_test import Commands
from data_test import BadData
from gan_test import Gans
from models_test import BadModels
from paths_test import BadPaths
from runs_test import Runs
from words_test import BadWords

__all__ = ["BadData", "BadModels", "BadPaths", "BadWords", "Commands", "Gans", "Runs"]

if __name__ == "__main__":
    cli_case.LOCKSTEP = os.path.abspath(sys.argv.pop(1))
    unittest.main()
