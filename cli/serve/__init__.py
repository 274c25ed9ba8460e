"""The service: polls a cluster, keeps its estimates, and answers by HTTP (extra `serve`)."""
