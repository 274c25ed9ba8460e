"""The exact methods: single-job search, joint plans by CP-SAT, improvement."""
