"""Slotwise."""
