"""Free resources over time: demands, resources, usage, and profiles of all instants or of one."""
