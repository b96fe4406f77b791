"""Training of shallow networks to the global optimum, with evidence that it is one."""
