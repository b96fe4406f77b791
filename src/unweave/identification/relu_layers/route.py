"""Two hidden layers of relu, as one of the ways to the neurons: found by kinks, judged like every other network."""

from dataclasses import dataclass, field

from unweave.exceptions import StageFailed
from unweave.identification import reasons
from unweave.identification.refiner import Candidate, Judge, Start
from unweave.identification.relu_layers.search import DeepKinkRoute
from unweave.identification.session import FirstLayer, Probe, Run
from unweave.result import Outcome, Result


@dataclass(frozen=True)
class ReluLayersRoute:
    """Settings of the way through two layers of kinks.

    Args:
        search: how the layers are found.
    """

    search: DeepKinkRoute = field(default_factory=DeepKinkRoute)
    name = DeepKinkRoute.name

    def __call__(self, run: Run, probe: Probe, judge: Judge) -> Candidate | Result:
        """The network, or what is known of it.

        Raises:
            StageFailed: if nothing, or the first layer only, was found; the run then knows it.
        """
        with run.stage("walking along kinks"):
            found = self.search(run, probe)
        if found.network is None:
            if found.first_layer is not None:
                layer = reasons.layer_in_oracle_units(found.first_layer, probe.oracle)
                run.first_layer = FirstLayer(found.first_layer, layer, found.reason)
            raise StageFailed(found.reason)
        if found.network.parameters > judge.refine.deep_limit:
            reason = f"{found.reason} The network is too large for a certificate on its parameters."
            return run.finish(Outcome.PARTLY_IDENTIFIED, reason, reasons.in_oracle_units(found.network, probe.oracle))
        with run.stage("refining"):
            candidate = judge(Start(found.network, found.fresh_error, found.checks))
        if found.outcome is not Outcome.IDENTIFIED:
            # The judge can't know of neurons that no input switches off.
            delivered = reasons.in_oracle_units(candidate.network, candidate.units)
            return run.finish(found.outcome, found.reason, delivered, candidate.certificate)
        return candidate
