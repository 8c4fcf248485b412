"""Names for types that recur."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None
Matrix = Any  # a dense array or a scipy sparse matrix of inputs
