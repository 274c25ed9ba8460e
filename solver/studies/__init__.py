"""Studies: variants of a configuration side by side, and sweeps over many cells."""
