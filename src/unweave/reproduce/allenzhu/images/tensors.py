"""Types of torch tensors with named axes; needs torch (``pip install 'unweave[torch]'``)."""

from typing import TypeAlias

import torch
from jaxtyping import Float, Int64

Images: TypeAlias = Float[torch.Tensor, "images channels height width"]
Maps: TypeAlias = Float[torch.Tensor, "images features rows columns"]
Labels: TypeAlias = Int64[torch.Tensor, "images"]
Logits: TypeAlias = Float[torch.Tensor, "images classes"]
