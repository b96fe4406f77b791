"""Network -> the exact network nearby."""

from unweave.refinement.levenberg_marquardt import LevenbergMarquardt
from unweave.refinement.refined import Refinement
from unweave.refinement.shift_descent import ShiftDescent

__all__ = ["LevenbergMarquardt", "Refinement", "ShiftDescent"]
