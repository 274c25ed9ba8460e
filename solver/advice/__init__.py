"""Answers for people: the methods compared, why not earlier, and what would start a job sooner."""
