"""How an audit ends: one line per form of answers, what defences buy, and where such attacks are catalogued."""

from dataclasses import dataclass

from unweave.oracles.oracle import MAX_BATCH
from unweave.result import Outcome, number


@dataclass(frozen=True)
class Reference:
    """An entry of a catalogue of attacks.

    Args:
        catalogue, entry: whose it is, and its number there.
        title, address: its name, and where it is on the web.
        why: what it has to do with an audit.
    """

    catalogue: str
    entry: str
    title: str
    address: str
    why: str


# LLM10 of the list for large language models is left out: what is audited here are networks whose answers are numbers.
REFERENCES = (
    Reference(
        "OWASP Machine Learning Security Top 10",
        "ML05:2023",
        "Model Theft",
        "https://owasp.org/www-project-machine-learning-security-top-10/docs/ML05_2023-Model_Theft",
        "somebody gets the parameters of a model",
    ),
    Reference(
        "MITRE ATLAS",
        "AML.T0024",
        "Exfiltration via AI Inference API",
        "https://atlas.mitre.org/techniques/AML.T0024",
        "the way: answers of a service that is used as intended",
    ),
    Reference(
        "MITRE ATLAS",
        "AML.T0024.002",
        "Extract AI Model",
        "https://atlas.mitre.org/techniques/AML.T0024.002",
        "the aim: a copy of the model itself",
    ),
    Reference(
        "MITRE ATLAS",
        "AML.M0002",
        "Passive AI Output Obfuscation",
        "https://atlas.mitre.org/mitigations/AML.M0002",
        "the defence by rounding, noise and labels",
    ),
    Reference(
        "MITRE ATLAS",
        "AML.M0004",
        "Restrict Number of AI Model Queries",
        "https://atlas.mitre.org/mitigations/AML.M0004",
        "the defence by rate limits and prices",
    ),
)


# Root mean square error on fresh answers, in units of their spread, below which a network is a copy of the function:
# one percent. Chosen: predictions that differ by less serve the same purpose.
COPIED = 1e-2


@dataclass(frozen=True)
class Exposure:
    """Tell what one form of answers gives away.

    Args:
        form: its name.
        shows: what is seen.
        defence: what a service does that shows no more; empty for answers as they are.
        outcome: of the identification; None if it was not tried.
        reason: why, with the numbers; why it was not tried.
        queries: that were spent.
        requests: that they are sent in, by somebody who fills each as far as the service takes it.
        seconds: that it took to compute.
        parameters: that were found; 0 without a network, and for one that is constant.
        error: root mean square error of the network on fresh answers, in units of their spread; None without one.
        radius: largest relative error of a parameter; None or infinite if the answers do not pin them down.
        is_cut_short: whether budget or time ended before it was through.
    """

    form: str
    shows: str
    defence: str
    outcome: Outcome | None
    reason: str
    queries: int = 0
    requests: int = 0
    seconds: float = 0.0
    parameters: int = 0
    error: float | None = None
    radius: float | None = None
    is_cut_short: bool = False

    @property
    def is_identified(self) -> bool:
        """Tell whether the network was given away."""
        return self.outcome is Outcome.IDENTIFIED

    @property
    def is_copied(self) -> bool:
        """Tell whether a network was found that meets fresh answers, of which not everything is certain."""
        return self.outcome is Outcome.PARTLY_IDENTIFIED and self.error is not None and self.error < COPIED


@dataclass(frozen=True)
class Audit:
    """Tell how exposed a model is.

    Args:
        exposures: one per form of answers, in the order of the table.
        looked: queries that were spent on a first look.
        rate: requests per second that the service allows; None if there is no limit.
        price_per_1000: what a thousand queries cost; None if nothing.
        max_batch: queries that the service takes in one request.
    """

    exposures: tuple[Exposure, ...]
    looked: int
    rate: float | None = None
    price_per_1000: float | None = None
    max_batch: int = MAX_BATCH

    @property
    def queries(self) -> int:
        """Count all queries of the audit."""
        return self.looked + sum(each.queries for each in self.exposures)

    @property
    def is_complete(self) -> bool:
        """Tell whether every form was tried to its end."""
        return not any(each.is_cut_short for each in self.exposures)

    @property
    def identified(self) -> tuple[Exposure, ...]:
        """List the forms of answers that give the network away."""
        return tuple(each for each in self.exposures if each.is_identified)

    def waiting(self, requests: int) -> float | None:
        """Return the seconds that so many requests take at the rate limit; None without one."""
        return None if self.rate is None else requests / self.rate

    def price(self, queries: int) -> float | None:
        """Return what so many queries cost; None without a price."""
        return None if self.price_per_1000 is None else queries / 1000 * self.price_per_1000

    @property
    def verdict(self) -> str:
        """Say what was found, in one sentence."""
        copies = ", ".join(each.form for each in self.exposures if each.is_copied)
        if self.identified:
            cheapest = min(self.identified, key=lambda each: each.queries)
            forms = ", ".join(each.form for each in self.identified)
            tried = sum(each.outcome is not None for each in self.exposures)
            more = f"; a copy of the function, without certain parameters, comes from {copies}" if copies else ""
            return (
                f"Exposed: {len(self.identified)} of {tried} forms of answers give the network away "
                f"({forms}), the cheapest after {cheapest.queries:,} queries{self._at_cost(cheapest)}{more}."
            )
        if copies:
            return f"Exposed in part: a copy of the function, without certain parameters, comes from {copies}."
        if not self.is_complete:
            return "Not known: budget or time ended before every form of answers was tried; none gave the network away."
        return (
            "Not given away: Unweave identified the network under none of the forms of answers that were tried. That "
            "is no proof that nobody can."
        )

    @property
    def defences(self) -> tuple[tuple[str, str], ...]:
        """Say what each defence buys against this identification, as pairs of a name and a sentence."""
        full = next((each for each in self.exposures if not each.defence), None)
        told = [(each.defence, _bought(each, full)) for each in self.exposures if each.defence]
        if self.identified:
            told.append(("rate limit", self._bought_by_waiting(min(each.requests for each in self.identified))))
        return tuple(told)

    def _bought_by_waiting(self, requests: int) -> str:
        sent = f"{requests:,} requests of up to {self.max_batch:,} points"
        if self.rate is None:
            return f"One request per second would stretch the quickest identification, {sent}, to {duration(requests)}."
        taken = duration(requests / self.rate)
        return f"At {self.rate:g} requests per second the quickest identification, {sent}, takes {taken}."

    def _at_cost(self, cheapest: Exposure) -> str:
        waiting, price = self.waiting(cheapest.requests), self.price(cheapest.queries)
        told = [] if waiting is None else [f"{duration(waiting)} at the rate limit"]
        told += [] if price is None else [f"a price of {price:,.2f}"]
        return f", {' and '.join(told)}" if told else ""


def _bought(exposure: Exposure, full: Exposure | None) -> str:
    if exposure.outcome is None:
        return f"Not tried: {exposure.reason}"
    if exposure.is_cut_short and not exposure.is_identified:
        return "Not known: budget or time ended before."
    if exposure.is_identified:
        if full is None or not full.is_identified:
            return f"Does not stop it: identified after {exposure.queries:,} queries."
        radius = "" if exposure.radius is None else f", parameters are still found within {number(exposure.radius)}"
        times = exposure.queries / max(full.queries, 1)
        return f"Does not stop it: {times:.1f} times the queries of full precision{radius}."
    if exposure.is_copied and exposure.error is not None:
        close = f"a copy meets fresh answers to {number(exposure.error)} of their spread"
        return f"Hides parameters, not the function: {close}."
    if exposure.outcome is Outcome.PARTLY_IDENTIFIED:
        return "Hides part: of the network only some was found, as the reason says."
    return f"Stopped Unweave, after {exposure.queries:,} queries; that is no proof against other methods."


def duration(seconds: float) -> str:
    """Write a time for people."""
    for size, name in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.1f} seconds"
