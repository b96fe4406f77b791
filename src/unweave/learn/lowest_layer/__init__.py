"""The lowest layer under any upper network, and unions of half spaces, from samples.

| module | what it does |
| --- | --- |
| `estimators` | scikit-learn estimators |
| `fit` | all of these in order |
| `labels` | which samples are quiet, at which value, and the noise |
| `starts` | neurons from cumulants of quiet samples, or from moments of labels, to some degrees |
| `directions` | directions from tensors; their orientation, thresholds and coefficients |
| `polish` | neurons to the precision of the data: `halfspace_fits`, and least squares for relu in `local_relu` |
| `halfspaces`, `union_fits` | half spaces of classes: their judge, and fits for prediction |
| `layer` | what was found, with what may be claimed of it and probabilities by the distance |
| `evidence` | what held-out samples, and inputs with few values, say about every neuron, and the outcome that follows |
| `upper` | what stands above the neurons, once they are known |
"""
