"""[soltanolkotabi, Fig. 2a]: softplus over neurons."""

from unweave.reproduce.soltanolkotabi.landscape_curves import curve_experiment

EXPERIMENT = curve_experiment("2a")
