"""[awasthi] Efficient algorithms for learning depth-2 neural networks with general ReLU activations."""
