"""The algorithms: reservations, placements, plans, and the judge that checks them."""
