"""Networks from samples that somebody else chose: scikit-learn estimators, loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unweave.learn.relu_network.regressor import ReluNetworkRegressor

_HOMES = {"ReluNetworkRegressor": "unweave.learn.relu_network.regressor"}

__all__ = ["ReluNetworkRegressor"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'unweave.learn' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
