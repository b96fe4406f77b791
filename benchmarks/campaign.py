"""Try every door with adversarial families, and print what was claimed against what is true.

    python benchmarks/campaign.py --fits 10000 --doors identify
    python benchmarks/campaign.py --fits 1000

Trials run in parallel, at most 60 CPU s each, and are kept in a file: a campaign that is started again goes on.
"""

import sys

import campaign_identify
from campaigns import main

if __name__ == "__main__":
    sys.exit(main([*campaign_identify.FAMILIES], description=__doc__ or ""))
