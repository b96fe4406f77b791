"""What the image experiments of [allenzhu] cost at their published sizes; `unweave reproduce` runs them.

python benchmarks/feature_correction_figures.py
"""

from command_line import parser_of
from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.allenzhu.images.costs import cost_of


def main() -> None:
    """Print trainings and GPU hours of every figure."""
    parser_of(__doc__).parse_args()
    print("| figure | measured | trainings | V100 hours |\n| --- | --- | --- | --- |")
    for name, configuration in FIGURES.items():
        cost = cost_of(configuration)
        print(f"| {name} | {configuration.measured} | {cost.trainings} | {cost.gpu_hours:.2g} |")


if __name__ == "__main__":
    main()
