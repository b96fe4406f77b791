"""Statistics -> directions: the span of the Hessians and the rank-one matrices in it."""
