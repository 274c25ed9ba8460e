"""Who is next: share accounts, dynamic priority, slot pools, and the order of dispatch."""
