"""Network and fresh answers -> what may be claimed."""
