"""Try every door with adversarial families, and print what was claimed against what is true.

    python benchmarks/campaign.py --fits 10000 --doors identify
    python benchmarks/campaign.py --fits 1000

Trials run in parallel, at most 60 CPU s each, and are kept in a file: a campaign that is started again goes on.
"""

import sys
import warnings

import campaign_identify
import campaign_samples
import campaign_training
from campaigns import main

if __name__ == "__main__":
    # Inputs that no theory allows are part of the campaign; the estimators warn about them.
    warnings.simplefilter("ignore")
    families = [*campaign_identify.FAMILIES, *campaign_samples.FAMILIES, *campaign_training.FAMILIES]
    sys.exit(main(families, description=__doc__ or ""))
