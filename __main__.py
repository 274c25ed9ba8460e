"""``python -m slotwise`` is the command ``slotwise``."""

from .cli.start import main

main()
