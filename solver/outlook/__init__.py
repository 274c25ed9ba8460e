"""What is said of the start of a pending job, computed once for every command, page and call."""
