"""What the world is: clusters, queues, jobs, requirements, plans. No solver, no terminal, no clock."""
