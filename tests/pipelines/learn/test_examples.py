"""The examples in docstrings of estimators run, and show what they say."""

import doctest

import pytest

from unweave import learn


@pytest.mark.parametrize("name", ["QuadraticNetworkRegressor", "HierarchicalRegressor", "OverparameterizedRegressor"])
def test_examples_run(name: str) -> None:
    found = doctest.DocTestFinder(recurse=False).find(getattr(learn, name), name)
    assert sum(len(each.examples) for each in found) > 0
    runner = doctest.DocTestRunner(verbose=False)
    for each in found:
        assert runner.run(each).failed == 0
