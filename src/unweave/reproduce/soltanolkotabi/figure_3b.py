"""[soltanolkotabi, Fig. 3b]: squares over inputs."""

from unweave.reproduce.soltanolkotabi.landscape_curves import curve_experiment

EXPERIMENT = curve_experiment("3b")
