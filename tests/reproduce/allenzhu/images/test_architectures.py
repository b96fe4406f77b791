from itertools import pairwise

import pytest

from late import LateModule, nn, torch
from unweave.exceptions import InvalidInput

architectures = LateModule("unweave.reproduce.allenzhu.images.architectures")

MINIATURES = {
    "residual": lambda: architectures.WideResidualNetwork(10, 0.25),
    "every unit": lambda: architectures.WideResidualNetwork(10, 0.25, reads_every_unit=True),
    "quadratic": lambda: architectures.WideResidualNetwork(10, 0.25, reads_every_unit=True, is_quadratic=True),
    "vgg": lambda: architectures.VggNetwork(13, 0.125, image_size=8),
    "alexnet": lambda: architectures.LinearlyReadAlexNet(0.125, image_size=8, first_kernel=5, first_stride=1),
}

pytestmark = pytest.mark.usefixtures("one_thread_of_torch")


def large_convolutions(model: "nn.Module") -> "list[nn.Conv2d]":
    return [each for each in model.modules() if isinstance(each, nn.Conv2d) and each.kernel_size != (1, 1)]


def parameters_of(model: "nn.Module") -> int:
    return sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("width", [1, 2, 0.5])
def test_resnet_34_has_the_published_parts(width: float) -> None:
    model = architectures.WideResidualNetwork(34, width)
    assert [each.out_channels for each in large_convolutions(model)] == (
        [round(16 * width)] * 11 + [round(32 * width)] * 10 + [round(64 * width)] * 10
    )
    assert len(model.units) == 16


def test_every_part_after_the_first_halves_the_image() -> None:
    model, sides = architectures.WideResidualNetwork(16, 0.25), []
    for unit in model.units:
        model.get_submodule(unit).register_forward_hook(lambda *found: sides.append(found[2].shape[-1]))
    model(torch.rand(2, 3, 32, 32))
    assert sides == [32, 32, 32, 16, 16, 8, 8]


def test_the_first_convolution_need_not_be_widened() -> None:
    assert architectures.WideResidualNetwork(16, 5, widens_stem=False).stem.out_channels == 16
    assert architectures.WideResidualNetwork(16, 5).stem.out_channels == 80


def test_parameters_are_those_published_for_wide_residual_networks() -> None:
    # 36,479,194 is the count of WRN-28-10 that its authors and many ports give.
    assert parameters_of(architectures.WideResidualNetwork(28, 10, widens_stem=False)) == 36_479_194


@pytest.mark.parametrize(("layers", "convolutions"), [(13, 10), (19, 16)])
def test_vgg_has_its_convolutions(layers: int, convolutions: int) -> None:
    model = architectures.VggNetwork(layers)
    found = large_convolutions(model)
    assert len(found) == len(model.units) == convolutions
    assert (found[0].out_channels, found[-1].out_channels) == (64, 512)


@pytest.mark.parametrize("channels", [3, 8])
def test_vgg_pools_four_times_whatever_the_images_channels(channels: int) -> None:
    # At an eighth of the width the first part has 8 channels.
    model = architectures.VggNetwork(13, 0.125, channels=channels)
    pooled = [
        number for number, unit in enumerate(model.convolutions) if isinstance(next(unit.children()), nn.MaxPool2d)
    ]
    assert pooled == [2, 4, 6, 8]


def test_vgg_13_has_its_parameters() -> None:
    channels = [3, 64, 64, 128, 128, 256, 256, 512, 512, 512, 512]
    weights = sum(9 * before * after for before, after in pairwise(channels))
    assert parameters_of(architectures.VggNetwork(13)) == weights + 2 * sum(channels[1:]) + 512 * 10 + 10


def test_alexnet_reads_all_five_layers() -> None:
    # Images of 32 x 32 leave 8, 4, 2, 2, 2 positions per side.
    read = 64 * 64 + 192 * 16 + 384 * 4 + 256 * 4 + 256 * 4
    kernels = 3 * 121 * 64 + 64 * 25 * 192 + 9 * (192 * 384 + 384 * 256 + 256 * 256)
    model = architectures.LinearlyReadAlexNet()
    assert model.linear.in_features == read
    assert parameters_of(model) == kernels + 64 + 192 + 384 + 256 + 256 + 10 * read + 10
    assert model.first_filters.shape == (64, 3, 11, 11)


@pytest.mark.parametrize("name", MINIATURES)
@pytest.mark.parametrize("size", [8, 32])
def test_shapes_and_gradients(name: str, size: int) -> None:
    model = MINIATURES[name]() if size == 8 or name != "alexnet" else architectures.LinearlyReadAlexNet(0.125)
    answers = model(torch.rand(4, 3, size, size))
    assert answers.shape == (4, 10)
    answers.square().sum().backward()
    assert all(each.grad is not None and each.grad.abs().max() > 0 for each in model.parameters())
    assert set(model.units) <= set(dict(model.named_modules()))


@pytest.mark.parametrize("name", MINIATURES)
def test_units_run_in_their_order(name: str) -> None:
    model, ran = MINIATURES[name](), []
    for unit in model.units:
        model.get_submodule(unit).register_forward_hook(lambda *_, unit=unit: ran.append(unit))
    model(torch.rand(2, 3, 8, 8))
    assert tuple(ran) == model.units


@pytest.mark.parametrize("reads_every_unit", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_truncated_networks_depend_on_their_first_units_only(depth: int, reads_every_unit: bool) -> None:
    model = architectures.WideResidualNetwork(10, 0.25, reads_every_unit=reads_every_unit)
    shallow = model.truncated(depth)
    shallow(torch.rand(2, 3, 8, 8)).sum().backward()
    assert len(large_convolutions(shallow)) == 1 + 2 * (depth - 1)
    ones = [each for each in shallow.modules() if isinstance(each, nn.Conv2d) and each.kernel_size == (1, 1)]
    assert len(ones) == 2, "shortcuts that change the shape stay"
    assert len(shallow.readouts) == (depth if reads_every_unit else 1)


def test_truncation_copies_weights_and_renews_the_readout() -> None:
    model = architectures.WideResidualNetwork(10, 0.25)
    shallow = model.truncated(2)
    assert torch.equal(shallow.stem.weight, model.stem.weight)
    assert shallow.stem.weight is not model.stem.weight
    assert not torch.equal(shallow.readouts[0].linear.weight, model.readouts[0].linear.weight)
    assert len(large_convolutions(model)) == 7, "the original is untouched"


def test_without_branches_the_network_is_linear_up_to_its_readout() -> None:
    shallow = architectures.WideResidualNetwork(10, 0.25).truncated(1).double()
    one, two = torch.rand(2, 1, 3, 8, 8, dtype=torch.float64)

    def last(images: torch.Tensor) -> torch.Tensor:
        hidden = shallow.stem(images)
        for block in shallow.blocks:
            hidden = block(hidden)
        return hidden

    torch.testing.assert_close(last(one + two), last(one) + last(two))


def test_a_quadratic_network_normalises_after_its_activation() -> None:
    model = architectures.WideResidualNetwork(10, 0.25, is_quadratic=True)
    assert not [each for each in model.modules() if isinstance(each, nn.ReLU)]
    kinds = [type(each) for each in model.readouts[0].activated]
    assert kinds == [architectures.QuadraticActivation, nn.BatchNorm2d]
    assert architectures.QuadraticActivation()(torch.tensor(2.0)) == pytest.approx(2.4)


def test_the_answer_is_the_sum_of_all_readouts() -> None:
    model = architectures.WideResidualNetwork(10, 0.25, reads_every_unit=True).eval()
    images, hidden = torch.rand(2, 3, 8, 8), []
    for unit in model.units:
        model.get_submodule(unit).register_forward_hook(lambda *found: hidden.append(found[2]))
    answers = model(images)
    parts = [readout(each) for readout, each in zip(model.readouts, hidden, strict=True)]
    torch.testing.assert_close(answers, sum(parts[1:], parts[0]))


@pytest.mark.parametrize("layers", [4, 12, 35])
def test_impossible_depths_are_refused(layers: int) -> None:
    with pytest.raises(InvalidInput, match="6 n \\+ 4"):
        architectures.WideResidualNetwork(layers)


def test_other_wrong_use_is_refused() -> None:
    with pytest.raises(InvalidInput, match="13 or 19 layers, got 16"):
        architectures.VggNetwork(16)
    with pytest.raises(InvalidInput, match="at least one of 16 channels"):
        architectures.WideResidualNetwork(10, 0.01)
    with pytest.raises(InvalidInput, match="from 1 to 4 units, got 0"):
        architectures.WideResidualNetwork(10, 0.25).truncated(0)
