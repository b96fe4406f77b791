"""What training does: landscapes of random starts, feature correction."""
