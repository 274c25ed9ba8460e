"""The rule book: may this job start there, then, and the reason if not."""
