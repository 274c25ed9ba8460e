"""The reservation methods: none, greedy, time-based, optimal."""
