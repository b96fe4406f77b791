"""Results as dictionaries for JSON: one shape for `--json` and for the `result.json` of a run.

The shape is described by `docs/result.schema.json`; `unweave.writing` says how numbers are written.
"""

from typing import TYPE_CHECKING

from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.writing import Document, envelope, for_json

if TYPE_CHECKING:
    from unweave.networks.network import Layer, Network
    from unweave.networks.quadratic.densenet import Level
    from unweave.result import Evidence, Result

RESULT_KIND = "result"


def as_document(found: "Result") -> Document:
    """The result as a dictionary for JSON, with all parameters of its network."""
    return envelope(RESULT_KIND) | {
        "outcome": found.outcome.value,
        "reason": found.reason,
        "route": found.route,
        "routes": [for_json(vars(each)) for each in found.routes],
        "network": None if found.network is None else network_document(found.network),
        "is_imitation": found.is_imitation,
        "first_layer": None if found.first_layer is None else layer_document(found.first_layer),
        "equivalent_activations": list(found.equivalent_activations),
        "certificate": None if found.certificate is None else certificate_document(found.certificate),
        "diagnostics": [for_json(vars(each)) for each in found.diagnostics],
        "cost": for_json(vars(found.cost)),
        "notes": list(found.notes),
        "fresh_errors": for_json(found.fresh_errors),
        "ranges": None if found.ranges is None else for_json(vars(found.ranges)),
        "settings": for_json(found.settings),
        "input_names": list(found.input_names),
    }


def network_document(network: "Network | QuadraticDenseNet") -> Document:
    """The sizes of a network, then all its parameters, which are finite."""
    if isinstance(network, QuadraticDenseNet):
        return _quadratic_document(network)
    return {
        "kind": "layered",
        "inputs": network.inputs,
        "neurons": list(network.widths),
        "outputs": network.outputs,
        "activations": [str(activation) for activation in network.activations],
        "parameters": network.parameters,
        "layers": [layer_document(layer) for layer in network.layers],
        "skip": None if network.skip is None else network.skip.tolist(),
    }


def layer_document(layer: "Layer") -> Document:
    """A layer with its parameters."""
    return {
        "inputs": layer.inputs,
        "neurons": layer.neurons,
        "activation": str(layer.activation),
        "weights": layer.weights.tolist(),
        "biases": layer.biases.tolist(),
    }


def certificate_document(certificate: "Evidence") -> Document:
    """Its class, what it states, and the numbers behind that."""
    statements = [list(pair) for pair in certificate.statements()]
    return {"kind": type(certificate).__name__, "statements": statements} | for_json(vars(certificate))


def _quadratic_document(network: QuadraticDenseNet) -> Document:
    return {
        "kind": "quadratic",
        "inputs": network.inputs,
        "features": list(network.wiring.widths),
        "connections": [list(sources) for sources in network.wiring.sources],
        "parameters": network.parameters,
        "levels": [_level_document(level) for level in network.levels],
        "mean_squares": network.mean_squares.tolist(),
        "linear": None if network.linear is None else network.linear.tolist(),
        "intercept": float(network.intercept),
    }


def _level_document(level: "Level") -> Document:
    return {
        "features": level.features.tolist(),
        "weight": float(level.weight),
        "signs": None if level.signs is None else level.signs.tolist(),
        "readout": None if level.readout is None else level.readout.tolist(),
    }
