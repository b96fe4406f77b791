"""Where random starts find global minima."""
