"""What some systems do not have."""

import sys

import pytest

#: For tests that fork, send signals, set limits or take permissions away.
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such forks, signals, limits or permissions")
