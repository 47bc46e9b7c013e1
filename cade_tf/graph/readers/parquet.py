"""Tables in Parquet files, read by pyarrow where it is installed."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.errors import InputError, require_module

MAGIC = b"PAR1"


@dataclasses.dataclass(frozen=True)
class ParquetTable:
    """The columns of a file.

    Args:
        columns: Values by name: numbers, or Python objects where they are not.
        index: Ids of the rows, where pandas stored an index of its own.
    """

    columns: dict[str, np.ndarray]
    index: np.ndarray | None


def read_table(path: Path) -> ParquetTable:
    """Reads a Parquet file.

    Raises:
        InputError: It is damaged, or pyarrow is not installed.
    """
    parquet = require_module("pyarrow.parquet", str(path))
    try:
        table = parquet.ParquetFile(path).read(use_pandas_metadata=True)
        # Not checked while reading: positions in dictionaries, lengths of strings.
        table.validate(full=True)
        columns = {
            name: column.to_numpy(zero_copy_only=False)
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        index = _index(table.schema.pandas_metadata, table.num_rows, columns)
    except MemoryError:
        raise
    except Exception as error:
        # What a damaged file makes pyarrow raise is not limited to its own exceptions.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            str(path), "a Parquet file", f"damaged content ({reason})", "Write it again."
        ) from error
    return ParquetTable(columns, index)


def _index(
    metadata: dict[str, Any] | None, rows: int, columns: dict[str, np.ndarray]
) -> np.ndarray | None:
    """Takes pandas' index out of the columns; a plain count of the rows is none."""
    stored = (metadata or {}).get("index_columns") or []
    if len(stored) != 1:
        return None
    if isinstance(stored[0], str):
        return columns.pop(stored[0], None)
    span = range(int(stored[0]["start"]), int(stored[0]["stop"]), int(stored[0]["step"]))
    return np.array(span) if len(span) == rows and span != range(rows) else None
