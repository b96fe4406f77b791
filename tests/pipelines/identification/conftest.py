"""Students of whole runs are small, but for tests of their own.

They are the last thing that is tried where nothing explains the answers, and take longer than all the rest. Small ones
go the same way, and answer like few models. The campaigns in `benchmarks/` have them as users do.
"""

from functools import partial

import pytest

from unweave.identification import identifier
from unweave.identification.students.growth import Growth
from unweave.identification.students.route import StudentFit, Thinning

SMALL = partial(
    StudentFit,
    growth=Growth(starts=1, start_steps=10, steps=20, thin_steps=20, candidates=1),
    completed=(1,),
    widths=(4, 6),
    kept=(2, 1),
    promising=(0.3, 0.15),
    thinning=Thinning(breaths=1),
    last_widths=(),
)


@pytest.fixture(autouse=True)
def small_students(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let students be small, unless a test is marked with `whole_students`."""
    if request.node.get_closest_marker("whole_students") is None:
        monkeypatch.setattr(identifier, "StudentFit", SMALL)
