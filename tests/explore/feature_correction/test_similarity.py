from itertools import permutations

import numpy as np
import pytest

from unweave.explore.feature_correction.similarity import filters, linear_cka, unexplained_share, weight_correlation


def weights(array: np.ndarray) -> dict[str, np.ndarray]:
    return {"weight": array, "bias": np.ones((len(array), 2)), "running_mean": np.ones(3)}


def test_filters_are_flattened_and_what_is_not_named_left_out(seed: int) -> None:
    array = np.random.default_rng(seed).standard_normal((4, 2, 3, 3))
    (found,) = filters(weights(array), ("weight",))
    assert np.array_equal(found, array.reshape(4, 18))


def test_the_correlation_is_the_mean_cosine(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, 4, 5))
    cosines = [a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in zip(first, second, strict=True)]
    assert weight_correlation(weights(first), weights(second), ("weight",)) == pytest.approx(np.mean(cosines))
    assert weight_correlation(weights(first), weights(3 * first), ("weight",)) == pytest.approx(1)


def test_matching_is_the_best_of_all_pairings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, 4, 5))
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (first, second)]
    table = np.abs(unit[0] @ unit[1].T)
    best = max(np.mean([table[k, order[k]] for k in range(4)]) for order in permutations(range(4)))
    assert weight_correlation(weights(first), weights(second), ("weight",), is_matched=True) == pytest.approx(best)


def test_matching_undoes_permutations_and_signs(seed: int) -> None:
    first = np.random.default_rng(seed).standard_normal((4, 5))
    assert weight_correlation(weights(first), weights(-first[::-1]), ("weight",), is_matched=True) == pytest.approx(1)


def test_a_dead_neuron_agrees_with_nothing() -> None:
    first = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert weight_correlation(weights(first), weights(first), ("weight",)) == pytest.approx(0.5)


def test_alignment_is_that_of_gram_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((12, 3)), rng.standard_normal((12, 4))
    centre = np.eye(12) - 1 / 12
    a, b = (centre @ each @ each.T @ centre for each in (first, second))
    assert linear_cka(first, second) == pytest.approx(np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b)))


def test_alignment_ignores_rotation_scale_and_shift(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, (rotation, _) = rng.standard_normal((20, 3)), np.linalg.qr(rng.standard_normal((3, 3)))
    assert linear_cka(features, 7 * features @ rotation + 2) == pytest.approx(1)


def test_what_a_linear_map_explains_is_not_missing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((50, 4))
    assert unexplained_share(features[:, :2] @ rng.standard_normal((2, 3)) + 1, features) < 1e-12
    assert 0.5 < unexplained_share(rng.standard_normal((50, 2)), features) <= 1
