"""The cluster and its jobs as time goes by, and the state of one cycle that its phases share."""
