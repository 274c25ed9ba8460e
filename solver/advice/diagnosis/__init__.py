"""Diagnosis: starving jobs, their causes in the configuration, and the cost of each remedy."""
