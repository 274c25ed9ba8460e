"""The arrays that availability, placement and the methods speak in; [H] is one value a host."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Slots by host index, in allocation order.
Allocation = dict[int, int]
