import pytest

from late import LateModule, nn, torch

attacks = LateModule("unweave.reproduce.allenzhu.images.attacks")
architectures = LateModule("unweave.reproduce.allenzhu.images.architectures")

# As they write themselves: listing the tests needs no torch.
ATTACKS = ["LinfPGD(radius=0.023529411764705882, steps=7)", "NoisyL2PGD(radius=0.5, noise=0.12, steps=4, trials=2)"]

pytestmark = pytest.mark.usefixtures("one_thread_of_torch")


@pytest.fixture
def attack(request: pytest.FixtureRequest) -> "attacks.LinfPGD | attacks.NoisyL2PGD":
    made = eval(request.param, {"LinfPGD": attacks.LinfPGD, "NoisyL2PGD": attacks.NoisyL2PGD})
    assert repr(made) == request.param
    return made


def problem(seed: int) -> "tuple[nn.Module, torch.Tensor, torch.Tensor]":
    generator = torch.Generator().manual_seed(seed)
    images = torch.rand(6, 3, 8, 8, generator=generator)
    return architectures.WideResidualNetwork(10, 0.25), images, torch.randint(10, (6,), generator=generator)


def losses(model: "nn.Module", images: "torch.Tensor", labels: "torch.Tensor") -> "torch.Tensor":
    model.eval()
    with torch.no_grad():
        return nn.functional.cross_entropy(model(images), labels, reduction="none")


@pytest.mark.parametrize("radius", [6 / 255, 0.3])
def test_no_pixel_leaves_the_ball_or_the_range(radius: float, seed: int) -> None:
    model, images, labels = problem(seed)
    found = attacks.LinfPGD(radius=radius)(model, images, labels, torch.Generator().manual_seed(seed))
    assert (found - images).abs().max() <= radius + 1e-6
    assert (found - images).abs().max() > 0.9 * radius
    assert found.min() >= 0
    assert found.max() <= 1


def test_the_euclidean_attack_stays_in_the_ball_around_its_noise(seed: int) -> None:
    model, images, labels = problem(seed)
    found = attacks.NoisyL2PGD(trials=1)(model, images, labels, torch.Generator().manual_seed(seed))
    noise = 0.12 * torch.randn(images.shape, generator=torch.Generator().manual_seed(seed))
    lengths = (found - images - noise).flatten(start_dim=1).norm(dim=1)
    assert lengths.max() <= 0.5 + 1e-5
    assert lengths.max() > 0.4


@pytest.mark.parametrize("attack", ATTACKS, indirect=True)
def test_attacks_raise_the_loss_of_every_image(attack: "attacks.LinfPGD | attacks.NoisyL2PGD", seed: int) -> None:
    model, images, labels = problem(seed)
    found = attack(model, images, labels, torch.Generator().manual_seed(seed))
    assert (losses(model, found, labels) > losses(model, images, labels)).all()


def test_the_trial_with_the_larger_loss_is_kept(seed: int) -> None:
    model, images, labels = problem(seed)
    generator = torch.Generator().manual_seed(seed)
    one_trial = attacks.NoisyL2PGD(trials=1)
    apart = torch.stack([losses(model, one_trial(model, images, labels, generator), labels) for _ in range(2)])
    found = attacks.NoisyL2PGD()(model, images, labels, torch.Generator().manual_seed(seed))
    torch.testing.assert_close(losses(model, found, labels), apart.amax(dim=0))
    assert len(set(apart.argmax(dim=0).tolist())) == 2, "neither trial is the worse one for all images"


def test_on_a_linear_model_the_attack_finds_the_corner(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    linear = nn.Linear(3 * 16, 2)
    model = nn.Sequential(nn.Flatten(), linear)
    images = 0.5 + 0.1 * torch.rand(4, 3, 4, 4, generator=generator)
    labels = torch.tensor([0, 1, 0, 1])
    found = attacks.LinfPGD(radius=0.1, steps=20)(model, images, labels, generator)
    # The loss of class 0 grows along w_1 - w_0, whatever the image.
    direction = (linear.weight[1] - linear.weight[0]).detach().sign().reshape(3, 4, 4)
    signs = 1 - 2 * labels.float()[:, None, None, None]
    torch.testing.assert_close(found, images + 0.1 * signs * direction)
    euclidean = attacks.NoisyL2PGD(noise=0.0, radius=0.1, steps=20)(model, images, labels, generator)
    slope = (linear.weight[1] - linear.weight[0]).detach().reshape(3, 4, 4)
    torch.testing.assert_close(euclidean, images + 0.1 * signs * slope / slope.norm(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("attack", ATTACKS, indirect=True)
def test_the_model_is_left_as_it_was(attack: "attacks.LinfPGD | attacks.NoisyL2PGD", seed: int) -> None:
    model, images, labels = problem(seed)
    model.train()
    model.get_submodule("blocks.0").eval()
    modes = [module.training for module in model.modules()]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    found = attack(model, images, labels, torch.Generator().manual_seed(seed))
    assert [module.training for module in model.modules()] == modes
    assert all(each.grad is None and each.requires_grad for each in model.parameters())
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert not found.requires_grad


@pytest.mark.parametrize("attack", ATTACKS, indirect=True)
def test_attacks_repeat_also_without_gradients(attack: "attacks.LinfPGD | attacks.NoisyL2PGD", seed: int) -> None:
    model, images, labels = problem(seed)
    one = attack(model, images, labels, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        two = attack(model, images, labels, torch.Generator().manual_seed(seed))
    assert torch.equal(one, two)
