"""Students of `peers.py`: networks of known architecture, trained on answers by PyTorch's Adam or by scikit-learn."""

import warnings
from collections.abc import Callable

import numpy as np

STARTS = 3
STEPS = 8000
# On other seeds, 3e-2 falling as a cosine left smaller errors than 1e-2, and than falling geometrically.
RATES = 3e-2, 1e-6
BATCH = 1024
FULL_BATCH = 4096


def best_student(
    points: np.ndarray, answers: np.ndarray, *, neurons: int, activation: str, seed: int
) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """The best of three students at the tenth of the answers that is held out.

    Returns:
        The student as a function of a batch, and its largest held-out error relative to the spread of the answers.
    """
    import torch

    # Small steps: on two threads they wait for each other, and take longer.
    torch.set_num_threads(1)
    mean, spread = answers.mean(), answers.std()
    inputs, targets = torch.from_numpy(points), torch.from_numpy((answers - mean) / spread)
    held_out = max(1, len(points) // 10)
    generator = torch.Generator().manual_seed(seed)
    students = []
    for _ in range(STARTS):
        student = trained_student(inputs[held_out:], targets[held_out:], neurons, activation, generator)
        with torch.no_grad():
            error = float((student(inputs[:held_out]) - targets[:held_out]).abs().max())
        students.append((error if np.isfinite(error) else np.inf, student))
    error, best = min(students, key=lambda pair: pair[0])

    def predict(fresh: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return best(torch.from_numpy(fresh)).numpy() * spread + mean

    return predict, error


def trained_student(inputs, targets, neurons: int, activation: str, generator):
    """One start: weights drawn as those of the planted networks, Adam with a rate that falls as a cosine."""
    import torch

    def gaussian(scale: float, *sizes: int) -> torch.Tensor:
        return (scale * torch.randn(*sizes, generator=generator, dtype=torch.float64)).requires_grad_()

    width = inputs.shape[1]
    parameters = [
        gaussian(width**-0.5, width, neurons),
        gaussian(0.3, neurons),
        gaussian(neurons**-0.5, neurons, 1),
        gaussian(0.3, 1),
    ]
    bend = getattr(torch, activation)

    def student(points: torch.Tensor) -> torch.Tensor:
        weights, biases, output_weights, offset = parameters
        return bend(points @ weights + biases) @ output_weights + offset

    first, last = RATES
    optimizer = torch.optim.Adam(parameters, lr=first)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=last)
    for _ in range(STEPS):
        batch = slice(None)
        if len(inputs) > FULL_BATCH:
            batch = torch.randint(len(inputs), (BATCH,), generator=generator)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(student(inputs[batch]), targets[batch]).backward()
        optimizer.step()
        schedule.step()
    return student


def best_regressor(
    points: np.ndarray, answers: np.ndarray, *, neurons: int, activation: str, seed: int
) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """The best of three of scikit-learn's regressors, as `best_student`."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    mean, spread = answers.mean(), answers.std()
    targets, held_out = (answers.ravel() - mean) / spread, max(1, len(points) // 10)
    students = []
    for start in range(STARTS):
        student = MLPRegressor(
            hidden_layer_sizes=(neurons,),
            activation=activation,
            solver="lbfgs",
            alpha=0.0,
            max_iter=STEPS,
            max_fun=10 * STEPS,
            tol=1e-14,
            random_state=(seed * STARTS + start) % 2**32,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            student.fit(points[held_out:], targets[held_out:])
        students.append((float(np.max(np.abs(student.predict(points[:held_out]) - targets[:held_out]))), student))
    error, best = min(students, key=lambda pair: pair[0])
    return lambda fresh: best.predict(fresh)[:, None] * spread + mean, error
