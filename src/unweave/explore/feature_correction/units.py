"""The units of a torch model: which there are, and what belongs to each.

A module that is no part of a unit but holds weights or running averages, such as a norm that stands beside its
convolution, belongs to the unit that ran before it; what runs before the first unit belongs to the first one. The order
is the one in which the model runs its modules, not the one in which they are written down.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.beside_units import owners_beside
from unweave.explore.feature_correction.channels import Channels, axis_of_rows, channels_after
from unweave.explore.feature_correction.cuts import body_of, cuts_itself, in_evaluation
from unweave.explore.feature_correction.subjects import Weights

# Modules whose weights scale features by themselves, whatever axes they have.
NORMS = (
    nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.LocalResponseNorm, nn.CrossMapLRN2d,
)  # fmt: skip
# Containers that only hold what runs one after the other, those of transformers with norms and positions beside it.
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.TransformerEncoder, nn.TransformerDecoder)
# The same of torchvision, which need not be installed.
NAMED_CONTAINERS = ("torchvision.models.vision_transformer.Encoder",)


@dataclass(frozen=True)
class UnitLayout:
    """Units, and the modules with state of their own that belong to each.

    Args:
        names: of the units, in the order in which they run.
        members: per unit the names of its modules that hold weights or running averages, or have no parts.
        filters: per unit the paths of its weights of neurons, see `is_filter`.
        channels: per unit the axis of its features, in what reaches the next one.
        beside: per unit the paths of parameters that no module of its own holds, such as class tokens and positions.
    """

    names: tuple[str, ...]
    members: dict[str, tuple[str, ...]]
    filters: dict[str, tuple[str, ...]]
    channels: dict[str, Channels | None]
    beside: dict[str, tuple[str, ...]]


def find_units(model: nn.Module) -> tuple[str, ...]:
    """Names of the units of a model that does not tell them.

    Its attribute `units` if it has one; otherwise its children that hold weights of neurons, containers opened,
    without the last one, which is taken for the head.
    """
    given = getattr(model, "units", None)
    if isinstance(given, list | tuple):
        return tuple(given)
    found = _weighted(model, "")
    if len(found) < 2:
        raise InvalidInput(
            f"units need to be named: the model has {len(found)} children with weights, and one of them is the head. "
            "Give units=(...), names as in dict(model.named_modules())."
        )
    return tuple(found[:-1])


def _weighted(module: nn.Module, prefix: str) -> list[str]:
    names = []
    for name, child in module.named_children():
        if not _filters_inside(child):
            continue
        inside = _weighted(child, f"{prefix}{name}.") if _is_container(child) else []
        names.extend(inside or [f"{prefix}{name}"])
    return names


def _is_container(module: nn.Module) -> bool:
    named = f"{type(module).__module__}.{type(module).__qualname__}"
    return isinstance(module, CONTAINERS) or named in NAMED_CONTAINERS


def lay_out(model: nn.Module, units: Sequence[str], example: torch.Tensor) -> UnitLayout:
    """Run a model once, check the order of its units, and find what belongs to each.

    Raises:
        InvalidInput: if a unit does not exist, holds no weights, lies in another, or units do not run once, in order;
            or if parameters belong to no unit, or to several.
    """
    modules, units = dict(model.named_modules()), tuple(units)
    for unit in units:
        if unit not in modules or not unit:
            known = ", ".join(name for name in modules if name)
            raise InvalidInput(f"there is no unit {unit!r} in the model: it has {known}.")
        if not _filters_inside(modules[unit]):
            raise InvalidInput(f"a unit needs weights of neurons, {unit!r} has none: name its layer.")
        if any(_is_inside(other, unit) for other in units if other != unit) or units.count(unit) > 1:
            raise InvalidInput(f"units need to be apart from each other, but another one lies in {unit!r}.")
    order = _order_of_run(model, example)
    ran = tuple(name for name in order if name in units)
    if ran != units:
        raise InvalidInput(f"units need to run once each, in their order {units}, but the model runs {ran}.")
    beside = _beside(model, units, example)
    _check_owners(dict(model.named_modules(remove_duplicate=False)), units, order, beside)
    members = _members(modules, units, order)
    filters = {unit: tuple(path for path, _ in _filters(modules, members[unit])) for unit in units}
    ends = [*(order.index(unit) for unit in units[1:]), _start_of_head(modules, units, order)]
    channels = {
        # What holds units ran before them, and has not put out anything.
        unit: channels_after(modules[name] for name in order[:end] if not _holds_a_unit(name, units))
        for unit, end in zip(units, ends, strict=True)
    }
    for unit, rows in zip(units, _axes_of_rows(model, units[1:], example), strict=False):
        told = channels[unit]
        channels[unit] = told if told is None or rows is None else told._replace(rows=rows)
    owned = {unit: tuple(path for path, owner in beside.items() if owner == unit) for unit in units}
    return UnitLayout(units, members, filters, channels, owned)


def _beside(model: nn.Module, units: tuple[str, ...], example: torch.Tensor) -> dict[str, str | None]:
    """Owners of parameters of the model itself, or of a container of units."""
    beside = {
        f"{name}.{own}" if name else own: weight
        for name, module in model.named_modules()
        if _holds_a_unit(name, units)
        for own, weight in module.named_parameters(recurse=False)
    }
    with in_evaluation(model):
        return owners_beside(model, units, example, beside)


def _axes_of_rows(model: nn.Module, units: tuple[str, ...], example: torch.Tensor) -> list[int | None]:
    """Which axis of what reaches these units holds its rows, as far as that is one tensor."""
    shapes: list[tuple[int, ...]] = []

    def note(_: nn.Module, given: tuple[Any, ...]) -> None:
        shapes.append(tuple(given[0].shape) if given and isinstance(given[0], torch.Tensor) else ())

    modules = dict(model.named_modules())
    handles = [modules[unit].register_forward_pre_hook(note) for unit in units]
    try:
        with in_evaluation(model), torch.no_grad():
            for rows in (example, torch.cat([example, example[:1]])):
                model(rows)
    finally:
        for handle in handles:
            handle.remove()
    few, more = shapes[: len(units)], shapes[len(units) :]
    axes = [axis_of_rows(*pair, rows=len(example)) for pair in zip(few, more, strict=True)]
    for unit, axis, shape in zip(units, axes, few, strict=True):
        if axis is None and shape and not cuts_itself(model):
            raise InvalidInput(
                f"a cut needs one tensor with an axis of rows, but what reaches {unit!r} has shape {shape} for "
                f"{len(example)} rows: name units between which rows are kept apart."
            )
    return axes


def _order_of_run(model: nn.Module, example: torch.Tensor) -> list[str]:
    order: list[str] = []

    def noting(name: str) -> Callable[..., None]:
        return lambda *_: order.append(name)

    handles = [module.register_forward_pre_hook(noting(name)) for name, module in model.named_modules()]
    try:
        with in_evaluation(model), torch.no_grad():
            model(example)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(f"the model can't be run on inputs of shape {tuple(example.shape)}: {error}") from error
    finally:
        for handle in handles:
            handle.remove()
    return order


def _members(modules: dict[str, nn.Module], units: tuple[str, ...], order: list[str]) -> dict[str, tuple[str, ...]]:
    """Per unit, modules that hold something or have no parts, so that dropout beside a unit is frozen with it."""
    members: dict[str, list[str]] = {unit: [] for unit in units}
    place = {unit: order.index(unit) for unit in units}
    head = _start_of_head(modules, units, order)
    for name, module in modules.items():
        if _holds_a_unit(name, units) or not (_own_state(module) or not _children(module)):
            continue
        inside = next((unit for unit in units if _is_inside(name, unit)), None)
        ran = _time_of_run(name, modules, units, order)
        if inside is None and ran is not None and ran < head:
            before = [unit for unit in units if place[unit] < ran]
            inside = before[-1] if before else units[0]
        if inside is not None:
            members[inside].append(name)
    return {unit: tuple(names) for unit, names in members.items()}


def _time_of_run(name: str, modules: dict[str, nn.Module], units: tuple[str, ...], order: list[str]) -> int | None:
    """When a module ran; when what it is part of ran, if that uses its weights without running it.

    What holds nothing may run at several depths, such as one ReLU for all: then the last time counts, as it may only be
    frozen with everything below it.
    """
    if name in order:
        return order.index(name) if _own_state(modules[name]) else len(order) - 1 - order[::-1].index(name)
    above, _, _ = name.rpartition(".")
    return None if _holds_a_unit(above, units) else _time_of_run(above, modules, units, order)


def _check_owners(
    modules: dict[str, nn.Module], units: tuple[str, ...], order: list[str], beside: dict[str, str | None]
) -> None:
    """Refuse parameters of which it can't be told to which unit they belong, before they train where they must not."""
    owners: dict[int, str] = {}
    for name, module in modules.items():
        unit = next((unit for unit in units if _is_inside(name, unit)), "the rest")
        for own, weight in module.named_parameters(recurse=False, remove_duplicate=False):
            path = f"{name}.{own}" if name else own
            if path in beside:
                unit = beside[path] or "the rest"
            elif unit == "the rest" and _time_of_run(name, modules, units, order) is None:
                raise InvalidInput(
                    f"module {name!r} has parameters and does not run: call it, or remove it, as nobody can tell to "
                    "which unit it belongs."
                )
            if owners.setdefault(id(weight), unit) != unit:
                raise InvalidInput(
                    f"parameter {path!r} is shared by {owners[id(weight)]!r} and {unit!r}: it can't be frozen in one "
                    "and train in the other."
                )


def _holds_a_unit(name: str, units: tuple[str, ...]) -> bool:
    """Whether a module is the model, or a container with units in it."""
    return any(unit != name and (not name or _is_inside(unit, name)) for unit in units)


def _start_of_head(modules: dict[str, nn.Module], units: tuple[str, ...], order: list[str]) -> int:
    """Where the first module with weight matrices runs that comes after the last unit."""
    for place in range(order.index(units[-1]), len(order)):
        name = order[place]
        if not _is_inside(name, units[-1]) and any(_filters(modules, [name])):
            return place
    return len(order)


def _is_inside(name: str, unit: str) -> bool:
    return name == unit or name.startswith(f"{unit}.")


def _own_state(module: nn.Module) -> dict[str, torch.Tensor]:
    named = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
    return {name: value for name, value in named if value is not None}


def read_units(model: nn.Module, layout: UnitLayout, depth: int) -> Weights:
    """Copies of everything that the first units hold."""
    modules = dict(body_of(model).named_modules())
    return {
        unit: {
            f"{name}.{own}" if name else own: value.detach().cpu().numpy().copy()
            for name in layout.members[unit]
            if name in modules
            for own, value in _own_state(modules[name]).items()
        }
        | {path: _beside_at(model, path).detach().cpu().numpy().copy() for path in layout.beside[unit]}
        for unit in layout.names[:depth]
    }


def _beside_at(model: nn.Module, path: str) -> torch.Tensor:
    return body_of(model).get_parameter(path)


def write_units(model: nn.Module, weights: Weights, units: Sequence[str]) -> None:
    """Put weights into units of a model."""
    modules = dict(body_of(model).named_modules())
    with torch.no_grad():
        for unit in units:
            for path, array in weights[unit].items():
                name, _, own = path.rpartition(".")
                if name in modules:
                    getattr(modules[name], own).copy_(torch.tensor(array))


def freeze(model: nn.Module, layout: UnitLayout, depth: int) -> None:
    """Stop the first units from changing: no gradients, and norms and dropout as in evaluation, come what may."""
    modules = dict(body_of(model).named_modules())
    for unit in layout.names[:depth]:
        for path in layout.beside[unit]:
            _beside_at(model, path).requires_grad_(False)
        for name in layout.members[unit]:
            if name in modules:
                for weight in modules[name].parameters(recurse=False):
                    weight.requires_grad_(False)
        held = [name for name in layout.members[unit] if name in modules and not _children(modules[name])]
        for name in {*held, *(name for name in modules if _is_inside(name, unit))}:
            _lock(modules[name])


def _children(module: nn.Module) -> bool:
    return next(module.children(), None) is not None


def _lock(module: nn.Module) -> None:
    """Keep a module in evaluation mode even if somebody's loop calls `model.train()`."""
    module.training = False
    module.train = lambda *_, **__: module


def pulled_weights(model: nn.Module, layout: UnitLayout, depth: int) -> list[tuple[str, str, torch.Tensor]]:
    """Unit, path and parameter of every weight of neurons in the first units."""
    modules = dict(body_of(model).named_modules())
    return [
        (unit, path, weight)
        for unit in layout.names[:depth]
        for path, weight in _filters(modules, layout.members[unit])
    ]


def is_filter(module: nn.Module, name: str, value: torch.Tensor) -> bool:
    """Whether a tensor of a module holds weights of neurons, one per entry of its first axis.

    Buffers, norms and biases do not, whatever axes they have.
    """
    is_learnt = isinstance(value, nn.Parameter)
    return is_learnt and value.ndim >= 2 and not isinstance(module, NORMS) and not name.startswith("bias")


def _filters(modules: dict[str, nn.Module], names: Sequence[str]) -> Iterator[tuple[str, nn.Parameter]]:
    """Paths and weights of neurons of some modules, those inside of them not counted."""
    for name in names:
        for own, weight in modules[name].named_parameters(recurse=False) if name in modules else ():
            if is_filter(modules[name], own, weight):
                yield f"{name}.{own}" if name else own, weight


def _filters_inside(module: nn.Module) -> bool:
    inside = dict(module.named_modules())
    return any(True for _ in _filters(inside, tuple(inside)))
