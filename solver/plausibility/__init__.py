"""Whether what was read of a cluster bears out what its scheduler says."""
