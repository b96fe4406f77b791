"""[soltanolkotabi, Fig. 2b]: softplus over inputs."""

from unweave.reproduce.soltanolkotabi.landscape_curves import curve_experiment

EXPERIMENT = curve_experiment("2b")
