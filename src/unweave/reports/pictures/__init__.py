"""Pictures of what was found, with matplotlib, an optional extra."""

from unweave.extras import need

need("matplotlib", purpose="drawing a picture")
