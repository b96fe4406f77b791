"""[soltanolkotabi, Fig. 3a]: squares over neurons."""

from unweave.reproduce.soltanolkotabi.landscape_curves import curve_experiment

EXPERIMENT = curve_experiment("3a")
