"""The lowest layer under any upper network, and unions of half spaces, from Gaussian samples.

| module | what it does |
| --- | --- |
| `labels` | which samples are quiet, and how noisy the labels are |
| `starts` | rows from cumulants of quiet samples, or from moments of labels, to some degrees |
| `polish` | rows to the precision of the data: linear programmes for half spaces, least squares for relu |
| `evidence` | what held-out samples say about every row, and the status that follows |
| `fit` | all of these in order |
| `upper` | what stands above the rows, once they are known |
| `regressor`, `halfspaces` | scikit-learn estimators |
"""
