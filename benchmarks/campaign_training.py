"""Doors that train, tried on samples that are made to mislead them: how many claims are wrong?

    python benchmarks/campaign_training.py --fits 500 --seed 0
    python benchmarks/campaign_training.py --fits 500 --doors "quadratic training"

`campaigns.py` has the machinery, `campaign_*.py` the families of every door and how they judge.
"""

import sys
import warnings

import campaign_correction
import campaign_networks
import campaign_quadratic
from campaigns import main

FAMILIES = [*campaign_quadratic.FAMILIES, *campaign_networks.FAMILIES, *campaign_correction.FAMILIES]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(FAMILIES, description=__doc__))
