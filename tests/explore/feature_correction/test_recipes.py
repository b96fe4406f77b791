from unweave.explore.feature_correction.recipes import Recipe

RECIPE = Recipe(epochs=120, learning_rate=0.1, milestones=(80, 100))


def test_the_learning_rate_falls_at_milestones() -> None:
    rates = [RECIPE.learning_rate_at(epoch) for epoch in (0, 79, 80, 99, 100, 119)]
    assert [round(rate, 12) for rate in rates] == [0.1, 0.1, 0.01, 0.01, 0.001, 0.001]


def test_a_shortened_recipe_keeps_its_shape() -> None:
    assert RECIPE.shortened(30) == Recipe(epochs=30, learning_rate=0.1, milestones=(20, 25))
