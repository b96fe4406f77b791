"""Which benchmarks make evidence: their commands in a small and in the full size, and how their figures are told."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Experiment:
    """What `docs/evidence/NAME.json` holds.

    Args:
        name: of the file.
        title: what was tried; it holds no figures, those are in the file.
        figures: what came of it in one line, with names of the summary in braces; no other figures.
        small: commands that take at most half a CPU minute together; none if there is no such size.
        full: commands of the size that claims rest on.
    """

    name: str
    title: str
    figures: str
    small: tuple[str, ...]
    full: tuple[str, ...]


RECOVERED = "{recovered} of {trials} recovered, {wrong} wrong, largest error {largest_error}"
WITH_QUERIES = f"{RECOVERED}; {{queries_per_parameter}} queries per parameter"
SMOOTH = ("tanh", "sigmoid", "softplus", "gelu")
IMPRECISE = (("relu", "noise"), ("relu", "float32"), ("tanh", "noise"), ("tanh", "float32"))

WALKS = (
    Experiment(
        "walks",
        "ReLU networks with one hidden layer: {network}",
        WITH_QUERIES,
        ("walks.py --first {first} --seeds 5",),
        ("walks.py --first {first} --seeds 20",),
    ),
    Experiment(
        "walks-large",
        "large first layers: {network}",
        WITH_QUERIES,
        ("walks.py --shapes 784-32-1 --first {first} --seeds 2",),
        ("walks.py --shapes 784-32-1 --first {first} --seeds 20",),
    ),
    Experiment(
        "walks-smooth",
        "smooth activations, scales and output weights of random size: {network}",
        WITH_QUERIES,
        tuple(
            f"walks.py --general --activation {name} --shapes 10-20-1 --first {{first}} --seeds 5" for name in SMOOTH
        ),
        tuple(
            f"walks.py --general --activation {name} --shapes 10-20-1 --first {{first}} --seeds 20" for name in SMOOTH
        ),
    ),
    Experiment(
        "walks-wide",
        "many neurons: {network}",
        WITH_QUERIES,
        ("walks.py --general --activation tanh --shapes 50-1000-1 --seeds 1 --first {first} --atol 1e-8",),
        tuple(
            f"walks.py --general --activation {name} --shapes 50-1000-1 --seeds 1 --first {{first}} --atol 1e-8"
            for name in SMOOTH[:2]
        ),
    ),
    Experiment(
        "walks-imprecise",
        "answers with noise, or of single precision: {network}",
        WITH_QUERIES,
        tuple(
            f"walks.py --activation {name} --answers {answers} --shapes 10-5-1 20-10-1 --first {{first}} --seeds 3"
            for name, answers in IMPRECISE
        ),
        tuple(
            f"walks.py --activation {name} --answers {answers} --shapes 10-5-1 20-10-1 --first {{first}} --seeds 20"
            for name, answers in IMPRECISE
        ),
    ),
    Experiment(
        "rounded-answers",
        "rounded answers ({answers}), without bounds and in a box: {network}",
        WITH_QUERIES,
        ("rounded_answers.py --first {first} --shapes 10-5-1 --seeds 1",),
        ("rounded_answers.py --first {first} --shapes 10-5-1 --seeds 20",),
    ),
    Experiment(
        "sweep",
        "random shallow networks of several activations and outputs, by {way}",
        WITH_QUERIES,
        ("shallow_sweep.py --networks 30 --seed {first}",),
        ("shallow_sweep.py --networks 200 --seed {first}",),
    ),
    Experiment(
        "sweep-hessians",
        "the same kind of networks, by {way}",
        WITH_QUERIES,
        ("shallow_sweep.py --hessians --networks 20 --seed {first}",),
        ("shallow_sweep.py --hessians --networks 200 --seed {first}",),
    ),
)

DEEPER = (
    Experiment(
        "deep",
        "deep networks, nothing given: {network}",
        WITH_QUERIES,
        ("deep.py --shapes 50-50-25-10 --outputs tanh --seeds 1 --first {first}",),
        ("deep.py --first {first}",),
    ),
    Experiment(
        "deep-pyramids",
        "random small deep networks that do not widen",
        WITH_QUERIES,
        ("deep.py --sweep 12 --first {first} --shift 0.2",),
        ("deep.py --sweep 60 --first {first} --shift 0.2",),
    ),
    Experiment(
        "relu-layers",
        "two hidden layers of ReLU: {network}",
        WITH_QUERIES,
        ("relu_layers.py --first {first} --seeds 3",),
        ("relu_layers.py --first {first}",),
    ),
    Experiment(
        "relu-layers-large",
        "the same with a large first layer, as far as the search finds it, without a certificate: {network}",
        WITH_QUERIES,
        ("relu_layers.py --shapes 784-32-32-1 --seeds 1 --first {first}",),
        ("relu_layers.py --shapes 784-32-32-1 --seeds 3 --first {first}",),
    ),
    Experiment(
        "lowest-layer-queries",
        "the lowest layer of steps or ReLUs under unknown functions, {inputs} inputs",
        "{recovered} of {trials} with all rows, largest error {largest_error}; {queries_per_weight} queries per weight",
        ("lowest_layer_queries.py --inputs 10 20 --seeds 2 --first {first}",),
        ("lowest_layer_queries.py --first {first}",),
    ),
    Experiment(
        "trained-networks",
        "networks that scikit-learn has trained on its own data sets, through `predict` alone",
        WITH_QUERIES,
        ("trained_networks.py --data diabetes --widths 5 10 --states 1 --first {first}",),
        ("trained_networks.py --first {first}",),
    ),
    Experiment(
        "peers",
        "Unweave beside other tools on the same networks: {network}",
        "{recovered_by_unweave} of {trials_by_unweave} recovered, {wrong_by_unweave} wrong; others "
        "{recovered_by_others} of {trials_by_others}, {wrong_by_others} wrong without saying so",
        ("peers.py --seeds 3 --first {first} --without-toolbox --without-student --shapes relu:10-5-1 relu:5-10-1",),
        ("peers.py --seeds 5 --first {first} --shapes relu:10-5-1 relu:20-10-1 relu:5-10-1",),
    ),
)

SAMPLES = (
    Experiment(
        "relu-samples",
        "ReLU networks from samples with exact labels; {inputs} inputs, {neurons} neurons",
        RECOVERED,
        ("relu_samples.py --tables rates sizes --seeds 1 --first {first}",),
        ("relu_samples.py --first {first}",),
    ),
    Experiment(
        "lowest-layer",
        "the lowest layer from samples, half spaces under an OR, median angles in degrees",
        "{median_angle} in the median, {worst_angle} at most",
        (
            "lowest_layer.py polish --seeds 1 --samples 200000 --first {first} --units step --uppers OR "
            "--thresholds 2 2.5 --conditions 1",
        ),
        (
            "lowest_layer.py polish --seeds 10 --first {first} --units step --uppers OR "
            "--thresholds 2 2.5 3 --conditions 1",
        ),
    ),
    Experiment(
        "quadratic",
        "networks of squares on random labels, {inputs} inputs",
        "{certified} of {certified_trials} certified global, largest loss {largest_loss}; direct training {ratio} "
        "times faster than gradient descent",
        ("quadratic.py labels speed --seeds 2 --first {first}",),
        ("quadratic.py labels speed --first {first}",),
    ),
    Experiment(
        "hierarchical",
        "deep quadratic networks from samples, all levels at once, {inputs} inputs",
        "{recovered} of {trials} exact, largest relative error {largest_error}",
        ("hierarchical.py --tables newton --seeds 1 --first {first}",),
        ("hierarchical.py --tables newton --first {first}",),
    ),
    Experiment(
        "hierarchical-staged",
        "the same in stages, beside layer-wise training",
        "error {ratio} times below layer-wise training in the median, {smallest_ratio} in the smallest seed",
        (),
        ("hierarchical.py --tables staged --seeds 5 --first {first}",),
    ),
)

TRAINING = (
    Experiment(
        "landscape",
        "where random starts find global minima: transitions of [soltanolkotabi, Fig. {figure}]",
        "crossings at {crossing}, published {published_crossing}",
        ("landscape.py --figures 2a --planted 3 --starts 3 --seed {first}",),
        ("landscape.py --seed {first}",),
    ),
    Experiment(
        "feature-correction",
        "layer-wise training below joint training, in points of the score, {seeds} seeds",
        "{layer_wise_gap} points",
        ("feature_correction.py levels --seeds 2",),
        ("feature_correction.py digits levels",),
    ),
    Experiment(
        "scale-out",
        "landscapes on several workers: {where}",
        "bits {bits}; {runs_per_second} runs per second",
        ("scale_out.py --sizes 2 --planted 2 --starts 2",),
        ("scale_out.py",),
    ),
    Experiment(
        "subspace-power",
        "directions of {neurons} neurons at {inputs} inputs, beside [fiedler, Alg. 2.2] in CPU seconds",
        "{ratio} times faster",
        ("subspace_power.py --inputs 20",),
        ("subspace_power.py",),
    ),
)

EXPERIMENTS = (*WALKS, *DEEPER, *SAMPLES, *TRAINING)
