"""The lowest layer of step and ReLU units under any function, from the edges of plateaus."""
