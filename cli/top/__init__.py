"""``slotwise top``: the pending jobs of a cluster as a page of the terminal that renews itself."""
