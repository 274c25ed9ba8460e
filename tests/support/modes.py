"""Root for whom the modes of files and folders count, as they do for everybody else."""

from __future__ import annotations
