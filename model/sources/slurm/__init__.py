"""A Slurm cluster at one instant: what its commands print, as an instance."""
