import pytest

from unweave.reproduce.experiment import Experiment, Scale
from unweave.reproduce.fiedler.deep.recovery_tables import entangled_weights_table, labels_table, matrices_table
from unweave.reproduce.fiedler.deep.teachers import DIFFERENCES, EXACT

TABLES = [entangled_weights_table, labels_table, matrices_table]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("derivatives", [EXACT, DIFFERENCES])
def test_published_numbers_stand_in_columns_of_their_rows(table, derivatives: str) -> None:
    experiment: Experiment = table(derivatives)
    for row in experiment.settings(Scale.FULL):
        printed = experiment.published(row)
        assert printed.keys() <= experiment.columns.keys()
        layers = str(row["neurons"]).count("-") + 1
        errors = [name for name in printed if name.startswith("error_")]
        # Step 1 sees linear outputs of no network; final matrices have all layers.
        is_blind = table is entangled_weights_table and row["outputs"] == "identity"
        assert len(errors) == (0 if table is labels_table else layers - is_blind)
    assert not any(experiment.published(row) for row in experiment.settings(Scale.QUICK))


def test_some_printed_numbers() -> None:
    rows = entangled_weights_table(DIFFERENCES)
    row = {"inputs": 50, "neurons": "50-35-25-10", "outputs": "tanh"}
    assert rows.published(row)["subspace"] == 1.0
    assert rows.published(row)["error_4"] == 2.1e-2
    assert rows.published(row)["power_seconds"] == 12
    assert labels_table(EXACT).published(row | {"neurons": "50-25-10", "outputs": "identity"})["is_right"] == 0.8
