"""The data model: clusters, queues, jobs, requirements and plans.

No solver, no terminal, no clock.
"""
