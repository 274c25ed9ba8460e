"""Which jobs starve, why as configured, and what each remedy costs the others."""
