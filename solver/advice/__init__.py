"""Answers for people: comparison of methods, explanations, and changes that start a job earlier."""
