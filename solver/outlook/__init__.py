"""Outlook on the start of each pending job, computed once for every command, page and call."""
