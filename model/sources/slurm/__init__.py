"""A Slurm cluster at one moment: what its commands print, as an instance."""
