"""Measure feature correction in a torch module of one's own: would freezing its lower layers cost anything?

Needs torch: pip install 'unweave[torch]'. Two seeds are enough to see how it works, and too few to conclude anything.
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits

import unweave


class MyNetwork(torch.nn.Module):
    """Three hidden layers, written as anybody would."""

    def __init__(self) -> None:
        super().__init__()
        self.layer1, self.norm1 = torch.nn.Linear(64, 32), torch.nn.BatchNorm1d(32)
        self.layer2, self.norm2 = torch.nn.Linear(32, 32), torch.nn.BatchNorm1d(32)
        self.layer3, self.norm3 = torch.nn.Linear(32, 16), torch.nn.BatchNorm1d(16)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores of ten classes."""
        hidden = torch.relu(self.norm1(self.layer1(images)))
        hidden = torch.relu(self.norm2(self.layer2(hidden)))
        return self.head(torch.relu(self.norm3(self.layer3(hidden))))


torch.set_num_threads(1)  # small networks are faster on one core
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype(np.float32)
data = (images[:500], labels[:500], images[500:], labels[500:])

result = unweave.measure_feature_correction(
    MyNetwork(),
    data,
    units=("layer1", "layer2", "layer3"),  # found if omitted; a norm goes with the layer before it
    recipe=unweave.Recipe(epochs=15, learning_rate=0.1, milestones=(10, 13)),
    prox=(1e-2,),
    windows=(0, 1),
    seeds=int(sys.argv[1]) if len(sys.argv) > 1 else 2,
    folder=sys.argv[2] if len(sys.argv) > 2 else None,  # the same call goes on there after it was stopped
)
print(result.as_table())
