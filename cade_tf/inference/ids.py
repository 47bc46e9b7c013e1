"""Ids of nodes that two files may spell differently."""

import numpy as np


def known_rows(ids: np.ndarray, known_ids: np.ndarray) -> np.ndarray:
    """Position of each id among the known ids, int64; -1 for an unknown one."""
    if ids.dtype.kind != known_ids.dtype.kind and "U" in (ids.dtype.kind, known_ids.dtype.kind):
        # Files without types may bring the same ids once as numbers and once as text.
        ids, known_ids = ids.astype(str), known_ids.astype(str)
    if not len(known_ids):
        return np.full(len(ids), -1, np.int64)
    order = np.argsort(known_ids)
    place = np.minimum(np.searchsorted(known_ids, ids, sorter=order), len(known_ids) - 1)
    candidates = order[place]
    return np.where(known_ids[candidates] == ids, candidates, -1).astype(np.int64)
