"""Doors that learn from samples, tried on families that are made to mislead them: how many claims are wrong?

    python benchmarks/campaign_samples.py --fits 1000 --seed 0
    python benchmarks/campaign_samples.py --fits 300 --doors "half spaces" --families "label noise"

A claim is wrong if the function is farther off than the certificate says, if a parameter is outside of its claimed
angle or radius, or if a neuron is missing, or one too many, that is not below the size which the result names as
invisible. Partly identified has to be right in the part that it names. What ends without a claim is an honest no.
`campaigns.py` has the machinery, `planted_samples.py` the inputs, `campaign_*.py` the families of every door.
"""

import sys
import warnings

import campaign_halfspaces
import campaign_lowest_layer
import campaign_relu
from campaigns import main

FAMILIES = [*campaign_halfspaces.FAMILIES, *campaign_relu.FAMILIES, *campaign_lowest_layer.FAMILIES]

if __name__ == "__main__":
    # Inputs that are not Gaussian are part of the campaign; the estimators warn about them.
    warnings.simplefilter("ignore")
    sys.exit(main(FAMILIES, description=__doc__))
