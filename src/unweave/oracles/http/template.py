"""Any API that takes and gives JSON: a template for requests, and a path to the numbers in answers."""

import json
from dataclasses import dataclass
from string import Template
from typing import Any

import httpx
import numpy as np

from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.oracles.http.client import Garbled
from unweave.oracles.http.dialects import Body, json_of, numbers_of
from unweave.oracles.http.secrets import from_environment

# All points of a request as a list of lists, or the only one as a list.
ALL, ONE = "points", "point"


@dataclass(frozen=True, repr=False)
class JsonTemplate:
    """Put points into a template, and read answers at a path.

    Args:
        request: as it is sent, with ``$points`` for a list of points, or ``$point`` for one point per request.
        variables: values of the others, from the environment.
        answer: path to the answers, as the user has written it.
        path: the same, compiled.
    """

    request: Template
    variables: dict[str, str]
    answer: str
    path: Any

    @property
    def most_points(self) -> int | None:
        """One, if the template takes one point."""
        return 1 if ONE in self.request.get_identifiers() else None

    def write(self, points: Points) -> Body:
        """Write points as JSON numbers, with all their digits."""
        rows = points.tolist()
        given = {ALL: json.dumps(rows), ONE: json.dumps(rows[0])}
        return Body(self.request.substitute(self.variables | given).encode())

    def read(self, response: httpx.Response, points: int) -> np.ndarray:
        """Read the numbers at the path: rows that it matches, or one list of rows that it names.

        Raises:
            Garbled: if it is no JSON.
            TransportFailed: if there are no numbers, or not one row per point.
        """
        found = self.path.findall(json_of(response))
        if not found:
            raise Garbled(f"there is nothing at {self.answer}")
        values = found[0] if self.path.singular_query() else found
        where = f"the answer at {self.answer}"
        return numbers_of([values] if self.most_points == 1 else values, points=points, where=where)


def template_of(request: str, answer: str) -> JsonTemplate:
    """Make a template of what a user has written.

    Raises:
        InvalidInput: if it is no JSON with points in it, or the path is none.
    """
    import jsonpath

    template = Template(request)
    variables = from_environment(request, name="--request", is_json=True, kept=(ALL, ONE))
    if len({ALL, ONE} & set(template.get_identifiers())) != 1:
        raise InvalidInput(
            f"--request needs ${ALL} where the list of points goes, or ${ONE} for one point per request."
        )
    try:
        path = jsonpath.compile(answer)
    except jsonpath.JSONPathError as error:
        raise InvalidInput(
            f"--answer needs a JSONPath, such as $.scores[*], got {answer!r}: {error.message}."
        ) from error
    found = JsonTemplate(template, variables, answer, path)
    try:
        json.loads(found.write(np.zeros((1, 1))).content)
    except ValueError as error:
        raise InvalidInput(
            f"--request needs to be JSON with points in place of ${ALL}, but it is not: {error}."
        ) from None
    return found
