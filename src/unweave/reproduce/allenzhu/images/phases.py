"""Figures 6 and 13 of [allenzhu]: unit by unit, with the better weight decay of every phase; needs torch.

Phase l trains unit l with a read-out of its own, and the units below it stay frozen (layer-wise) or train on (joint).
Every phase is run with each weight decay, and the better one is where the next phase begins. Better means on a fifth of
the training images, which no phase trains on.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unweave.explore.feature_correction.plan import Kind, Training
from unweave.explore.feature_correction.records import Record, measure
from unweave.explore.feature_correction.samples import Samples, check_samples
from unweave.explore.feature_correction.store import FolderStore
from unweave.explore.feature_correction.subjects import Subject, Weights
from unweave.explore.feature_correction.torch_subject import torch_subject
from unweave.reproduce.allenzhu.images.configurations import NetworkPlan
from unweave.reproduce.allenzhu.images.figure_results import Phase, PhaseTables
from unweave.reproduce.allenzhu.images.image_training import ImageTraining

WAYS = (Kind.LAYERWISE, Kind.JOINT)


def run_phases(training: ImageTraining, seed: int) -> PhaseTables:
    """Run all phases of all networks and seeds; those that the folder holds are read.

    Raises:
        OutOfTime: if the time is over.
    """
    samples = check_samples(training.images.as_floats(), has_validation=True, random_state=seed)
    tables = {}
    for network in training.configuration.networks:
        chains = _Chains.of(training, network, samples)
        last = max(training.configuration.depths, default=network.blueprint.units)
        seeds = range(seed, seed + training.configuration.seeds)
        tables[network.blueprint.name] = tuple(
            phase for each in seeds for way in WAYS for phase in chains.phases(each, way, last)
        )
    return PhaseTables(tables)


@dataclass(frozen=True, eq=False)
class _Chains:
    """A network with a subject and a folder for every weight decay."""

    training: ImageTraining
    network: NetworkPlan
    samples: Samples
    subjects: tuple[Subject, ...]
    stores: tuple[FolderStore, ...]

    @classmethod
    def of(cls, training: ImageTraining, network: NetworkPlan, samples: Samples) -> "_Chains":
        prepare_train, prepare_test = training.transforms
        subjects, stores = [], []
        for recipe in network.recipes:
            subject = torch_subject(
                lambda seed: training.build(network.blueprint, seed), samples, units=None, recipe=recipe,
                prepare_train=prepare_train, prepare_test=prepare_test,
            )  # fmt: skip
            # What the other decays are decides where a phase begins.
            decays = [each.weight_decay for each in network.recipes]
            configuration = subject.configuration() | {"samples": samples.digest, "decays": decays}
            name = f"{network.blueprint.name} decay {recipe.weight_decay:g}".replace(" ", "-")
            subjects.append(subject)
            stores.append(FolderStore.open(training.folder / name, configuration))
        return cls(training, network, samples, tuple(subjects), tuple(stores))

    def phases(self, seed: int, way: Kind, last: int) -> Iterator[Phase]:
        """Phase after phase, each from the better weights of the one before."""
        weights: Weights | None = None
        for depth in range(1, last + 1):
            below = depth - 1
            # The first phase has nothing to freeze and is the same for both ways.
            kind, frozen = (Kind.ONLY, 0) if depth == 1 else (way, below if way is Kind.LAYERWISE else 0)
            asked = Training(kind, seed, depth, depth, copied=below, frozen=frozen)
            records = [self._record(place, asked, weights) for place in range(len(self.subjects))]
            best = int(np.argmax([_chosen_by(record) for record in records]))
            weights = self.stores[best].trained(asked).weights
            decay = self.network.recipes[best].weight_decay
            yield Phase(way.value, seed, depth, records[best].score, decay)

    def _record(self, place: int, asked: Training, weights: Weights | None) -> Record:
        """The numbers of one training, which is done if it was not."""
        subject, store, training = self.subjects[place], self.stores[place], self.training
        training.tell(f"{self.network.blueprint.name}, {asked.name}", training.done)
        training.done += 1
        kept = store.record(asked)
        if kept is not None:
            return kept
        training.deadline.check()
        began = time.perf_counter()
        trained = subject.train(asked, weights, training.deadline, store.halfway(asked))
        record = measure(
            asked, trained, filters=subject.filters, start=subject.start(asked.start_seed), other=None,
            samples=self.samples, seconds=time.perf_counter() - began,
        )  # fmt: skip
        store.keep(asked, record, trained, is_needed=True)
        return record


def _chosen_by(record: Record) -> float:
    """The score on images that were kept out; a training that diverged is never chosen."""
    score = record.validation_score
    return score if score is not None and np.isfinite(score) else -np.inf
