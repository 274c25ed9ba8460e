"""A planner that lives on: events in, plans out, what runs entered once."""
