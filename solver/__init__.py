"""What can be decided: reservations, placements, plans, and whether they are right."""
