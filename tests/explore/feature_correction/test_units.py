import numpy as np
import pytest

from late import LateModule, nn, torch
from unweave.exceptions import InvalidInput
from unweave.reproduce.allenzhu.images.blueprints import Blueprint, ResidualBlueprint, VggBlueprint

models = LateModule("correction_models")
builders = LateModule("unweave.explore.feature_correction.builders")
cuts = LateModule("unweave.explore.feature_correction.cuts")
cutting = LateModule("unweave.explore.feature_correction.units")


def example() -> "torch.Tensor":
    return torch.zeros(2, 1, 4, 4)


@pytest.fixture
def model(seed: int) -> "models.SmallConvolutions":
    torch.manual_seed(seed)
    return models.SmallConvolutions()


def test_units_are_taken_from_the_model_or_found() -> None:
    assert cutting.find_units(models.SmallConvolutions()) == ("conv1", "conv2", "conv3")
    assert cutting.find_units(models.perceptron()) == ("0", "2")
    nested = nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(), nn.Conv2d(2, 2, 1)), nn.Flatten())
    nested.append(nn.Linear(2, 2))
    assert cutting.find_units(nested) == ("0.0", "0.2")


def test_a_model_without_units_asks_for_names() -> None:
    with pytest.raises(InvalidInput, match="Give units"):
        cutting.find_units(nn.Sequential(nn.Linear(2, 2)))


def test_norms_belong_to_the_unit_that_ran_before_them(model: "models.SmallConvolutions") -> None:
    layout = cutting.lay_out(model, model.units, example())
    assert layout.members == {"conv1": ("conv1", "norm1"), "conv2": ("norm2", "conv2"), "conv3": ("conv3",)}


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (("conv1", "conv9"), "no unit 'conv9' in the model: it has norm2, conv1"),
        (("conv2", "conv1"), "in their order"),
        (("norm1",), "needs weights of neurons"),
        (("conv1", "conv1"), "apart from each other"),
    ],
)
def test_wrong_units_are_refused(model: "models.SmallConvolutions", units: tuple[str, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cutting.lay_out(model, units, example())


def test_weights_of_neurons_are_neither_norms_nor_biases_nor_buffers() -> None:
    model = nn.Sequential(
        models.Rowwise(), nn.Unflatten(1, (1, 3)), nn.LayerNorm((1, 3)), nn.Flatten(), nn.Linear(3, 2)
    )
    layout = cutting.lay_out(model, ("0",), torch.zeros(2, 3))
    assert layout.members == {"0": ("0", "1", "2", "3")}
    assert layout.filters == {"0": ("0.weight",)}
    assert [path for _, path, _ in cutting.pulled_weights(model, layout, 1)] == ["0.weight"]
    assert cutting.find_units(model) == ("0",)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("root", "'scale' stands beside units"),
        ("container", "'stages.scale' stands beside units"),
        ("tied", "'stages.second.weight' is shared by 'stages.first' and 'stages.second'"),
        ("tied head", "is shared by 'stages.first' and 'the rest'"),
        ("functional", "'between' has parameters and does not run"),
    ],
)
def test_parameters_that_belong_to_no_unit_or_to_several_are_refused(kind: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cutting.lay_out(models.Beside(kind), ("stages.first", "stages.second"), torch.zeros(2, 3))


def test_dropout_beside_a_frozen_unit_is_frozen_with_it() -> None:
    model = models.Beside("nothing")
    cutting.freeze(model, cutting.lay_out(model, ("stages.first", "stages.second"), torch.zeros(2, 3)), 1)
    model.train()
    assert not model.drop.training
    assert model.stages.second.training
    assert model.head.training


def test_dropout_of_all_depths_is_not_frozen_by_the_lowest() -> None:
    drop = nn.Dropout(0.5)
    model = nn.Sequential(nn.Linear(3, 3), drop, nn.Linear(3, 3), drop, nn.Linear(3, 2))
    cutting.freeze(model, cutting.lay_out(model, ("0", "2"), torch.zeros(2, 3)), 1)
    model.train()
    assert drop.training


def test_a_unit_that_runs_twice_is_refused() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unit, self.head = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.head(self.unit(self.unit(rows)))

    with pytest.raises(InvalidInput, match="run once each"):
        cutting.lay_out(Twice(), ("unit",), torch.zeros(2, 3))


def test_inputs_that_do_not_fit_are_refused(model: "models.SmallConvolutions") -> None:
    with pytest.raises(InvalidInput, match="can't be run on inputs of shape"):
        cutting.lay_out(model, model.units, torch.zeros(2, 3, 4, 4))


def test_a_cut_model_is_the_lower_part_with_a_head(model: "models.SmallConvolutions", seed: int) -> None:
    cut = cuts.CutModel(model, "conv2", example(), outputs=3)
    inputs = torch.randn(5, 1, 4, 4, generator=torch.Generator().manual_seed(seed))
    cut.eval()
    lower = torch.relu(model.norm1(model.conv1(inputs))).mean((2, 3))
    assert torch.allclose(cut(inputs), lower @ cut.head.weight.T + cut.head.bias, atol=1e-6)


def test_cutting_a_model_draws_nothing_and_moves_no_averages(model: "models.SmallConvolutions") -> None:
    model.norm1.eval()
    cuts.CutModel(model, "conv3", example() + 1, outputs=3)
    assert torch.equal(model.norm2.running_mean, torch.zeros(5))
    assert model.norm2.training
    assert not model.norm1.training


def test_units_above_a_cut_get_no_gradients(model: "models.SmallConvolutions") -> None:
    cut = cuts.CutModel(model, "conv2", example(), outputs=3)
    cut(torch.ones(4, 1, 4, 4)).sum().backward()
    assert model.conv1.weight.grad is not None
    assert model.conv2.weight.grad is None


def test_frozen_units_do_not_change_even_if_a_loop_says_train(model: "models.SmallConvolutions", seed: int) -> None:
    layout = cutting.lay_out(model, model.units, example())
    cutting.freeze(model, layout, 1)
    before = cutting.read_units(model, layout, 3)
    optimiser = torch.optim.SGD([w for w in model.parameters() if w.requires_grad], lr=0.1, weight_decay=0.1)
    model.train()
    model(torch.randn(8, 1, 4, 4, generator=torch.Generator().manual_seed(seed))).square().sum().backward()
    optimiser.step()
    after = cutting.read_units(model, layout, 3)
    for name, array in before["conv1"].items():
        assert np.array_equal(array, after["conv1"][name]), name
    for name in ("conv2.weight", "norm2.weight", "norm2.running_mean", "norm2.num_batches_tracked"):
        assert not np.array_equal(before["conv2"][name], after["conv2"][name]), name


def test_weights_can_be_carried_over(model: "models.SmallConvolutions", seed: int) -> None:
    layout = cutting.lay_out(model, model.units, example())
    torch.manual_seed(seed + 1)
    other = models.SmallConvolutions()
    cutting.write_units(other, cutting.read_units(model, layout, 2), ("conv1", "conv2"))
    assert torch.equal(other.conv2.weight, model.conv2.weight)
    assert torch.equal(other.norm2.running_var, model.norm2.running_var)
    assert not torch.equal(other.conv3.weight, model.conv3.weight)


def test_every_seed_has_its_own_weights_and_the_model_stays(model: "models.SmallConvolutions", seed: int) -> None:
    before = model.conv1.weight.detach().clone()
    state = torch.get_rng_state()
    first, again, other = (
        builders.rebuilt(model, seed),
        builders.rebuilt(model, seed),
        builders.rebuilt(model, seed + 1),
    )
    assert torch.equal(first.conv1.weight, again.conv1.weight)
    assert not torch.equal(first.conv1.weight, other.conv1.weight)
    assert torch.equal(model.conv1.weight, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_model_has_the_last_word_on_its_weights(seed: int) -> None:
    class Small(nn.Sequential):
        def reset_parameters(self) -> None:
            for weight in self.parameters():
                nn.init.constant_(weight, 1e-3)

    assert all(
        torch.equal(w, torch.full_like(w, 1e-3)) for w in builders.rebuilt(Small(nn.Linear(2, 2)), seed).parameters()
    )


@pytest.mark.parametrize("model", [ResidualBlueprint(10, 0.25), VggBlueprint(13, 0.125)])
def test_built_in_models_are_drawn_anew_by_their_own_rule(model: Blueprint, seed: int) -> None:
    anew = builders.rebuilt(model.build(seed + 1, classes=10, shape=(3, 8, 8)), seed)
    for module in anew.modules():
        if isinstance(module, nn.Conv2d) and module.kernel_size == (3, 3) and module.weight.numel() > 500:
            expected = (2 / (9 * module.out_channels)) ** 0.5
            assert module.weight.std().item() == pytest.approx(expected, rel=0.2)


def test_what_cannot_be_reset_is_refused() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.scale = nn.Linear(2, 2), nn.Parameter(torch.ones(2))

    with pytest.raises(InvalidInput, match="'Scaled' has no reset_parameters: give a function of the seed"):
        builders.rebuilt(Scaled(), 0)
