"""A long-lived planner: events in, plans out; running jobs are entered once."""
