import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.reproduce.fiedler.direction_clusters import half_sphere_clusters, leader_clusters, without_outputs
from unweave.reproduce.fiedler.entangled import normalised
from unweave.reproduce.fiedler.entangled_metrics import worst_of_found, worst_of_truth

INPUTS, GROUPS, COPIES = 8, 10, 12


def noisy_copies(seed: int, *, noise: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Centres with first coordinates far from zero, and copies of them with errors and random signs."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((GROUPS, INPUTS))
    centers[:, 0] = 2.0 * np.sign(centers[:, 0]) + centers[:, 0]
    centers = normalised(centers)
    copies = np.repeat(centers, COPIES, axis=0) + noise * rng.standard_normal((GROUPS * COPIES, INPUTS))
    signs = rng.choice([-1.0, 1.0], (len(copies), 1))
    return centers, rng.permutation(signs * normalised(copies))


def test_leaders_find_every_group(seed: int) -> None:
    centers, copies = noisy_copies(seed)
    found = leader_clusters(copies, np.random.default_rng(seed).uniform(size=len(copies)), distance=0.2)
    assert len(found.centers) == GROUPS
    assert np.all(found.hits == COPIES)
    # A mean of copies is nearer than a copy.
    assert worst_of_truth(found.centers, centers) < 0.03
    assert found.spread < 0.1


def test_leaders_do_not_mind_signs(seed: int) -> None:
    _, copies = noisy_copies(seed)
    values = np.linspace(1, 0, len(copies))
    signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], (len(copies), 1))
    one, other = leader_clusters(copies, values), leader_clusters(signs * copies, values)
    assert worst_of_found(other.centers, one.centers) < 1e-7
    assert np.array_equal(one.hits, other.hits)


def test_the_best_vector_leads(seed: int) -> None:
    centers, _ = noisy_copies(seed)
    near = normalised(centers[:1] + 0.05)
    found = leader_clusters(np.concatenate([centers, near]), np.append(np.zeros(GROUPS), 1.0), distance=1e-3)
    assert np.allclose(found.centers[0], near[0])


def test_means_on_the_half_sphere_find_every_group(seed: int) -> None:
    centers, copies = noisy_copies(seed)
    found = half_sphere_clusters(copies, count=GROUPS, rng=np.random.default_rng(seed))
    assert np.all(found.hits == COPIES)
    assert worst_of_truth(found.centers, centers) < 0.03


def test_the_half_sphere_tears_a_group_near_its_border() -> None:
    # The weakness of the choice of signs in [fiedler], which leaders do not have.
    rng = np.random.default_rng(0)
    truth = np.eye(3)[1:]
    copies = normalised(np.repeat(truth, 40, axis=0) + 0.01 * rng.standard_normal((80, 3)))
    torn = half_sphere_clusters(copies, count=2, rng=rng)
    whole = leader_clusters(copies, np.ones(80))
    assert worst_of_truth(torn.centers, truth) > 0.3
    assert len(whole.centers) == 2
    assert worst_of_truth(whole.centers, truth) < 0.01


def test_more_groups_than_vectors_are_refused(seed: int) -> None:
    _, copies = noisy_copies(seed)
    with pytest.raises(InvalidInput, match="more starts"):
        half_sphere_clusters(copies[:3], count=4, rng=np.random.default_rng(0))


def test_equal_vectors_leave_centres_empty() -> None:
    copies = np.repeat(np.eye(3)[:2], 3, axis=0)
    found = half_sphere_clusters(copies, count=4, rng=np.random.default_rng(0))
    assert np.array_equal(np.sort(found.hits), [3, 3])


def test_output_directions_are_taken_out_up_to_sign(seed: int) -> None:
    centers, copies = noisy_copies(seed)
    apart = without_outputs(copies, -centers[:4])
    assert len(apart) == (GROUPS - 4) * COPIES
    assert worst_of_found(apart, centers[4:]) < 0.1


def test_nothing_gives_no_groups() -> None:
    assert len(leader_clusters(np.empty((0, 3)), np.empty(0)).centers) == 0
