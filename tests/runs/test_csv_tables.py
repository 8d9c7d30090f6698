"""Tables come back from CSV files to the last bit, whichever pandas reads them, and all of ours are read like that."""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd

from tricks.runs.csv_tables import read_table

ROOT = Path(__file__).parents[2]


def test_every_number_comes_back_to_the_last_bit() -> None:
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=2000) * 10.0 ** generator.integers(-9, 9, 2000)
    written = io.StringIO(pd.DataFrame({"x": [9.287637776633773e-07, *numbers]}).to_csv(index=False))
    assert read_table(written).x.tolist() == [9.287637776633773e-07, *numbers]


def test_no_code_of_ours_reads_a_table_otherwise() -> None:
    files = [path for room in ("tricks", "ablations") for path in (ROOT / room).rglob("*.py")]
    found = {path.name for path in files if re.search(r"\bpd\.read_csv\(", path.read_text(encoding="utf-8"))}
    assert found == {"csv_tables.py"}
