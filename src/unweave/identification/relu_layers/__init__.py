"""Networks with two hidden layers of ReLU."""
