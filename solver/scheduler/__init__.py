"""The scheduler loop: the cluster as time goes by, dispatch cycles, and the reservation methods."""

from __future__ import annotations
