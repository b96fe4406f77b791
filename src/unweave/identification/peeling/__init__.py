"""Deep tanh and sigmoid networks: the first layer is known, the layers above are found in its coordinates."""
