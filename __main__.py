"""``python -m slotwise`` is the command ``slotwise``."""

import sys

# Python puts the current folder first for -m; a numpy.py that lies there is none of ours.
if not sys.flags.safe_path:
    del sys.path[0]

from .cli.start import main

main()
