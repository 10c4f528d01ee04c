"""The soak in small: a few processes, a few kills, and nothing lost, twice or half."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[1] / "bench" / "soak.py"


@pytest.mark.timeout(300)
def test_a_short_soak_loses_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "soak.db")
    options = ["--minutes", "2", "--processes", "3", "--every", "0.3", "--kills", "5", "--store", store]
    done = subprocess.run(
        [sys.executable, str(SOAK), *options], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "lost: 0; duplicates: 0; otherwise wrong: 0" in done.stdout
    memories = re.search(r"memories: (\d+)", done.stdout)
    assert memories is not None
    assert int(memories[1]) > 20
