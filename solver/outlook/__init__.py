"""Predicted starts of pending jobs, computed once for every command, page and call."""
