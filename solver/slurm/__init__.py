"""Slurm's own plan: one cycle of its backfill, as its source has it."""
