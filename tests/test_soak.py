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
    options = [
        "--minutes",
        "0.15",
        "--processes",
        "3",
        "--every",
        "1.5",
        "--store",
        str(tmp_path / "soak.db"),
    ]
    done = subprocess.run(
        [sys.executable, str(SOAK), *options], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "lost: 0; duplicates: 0; otherwise wrong: 0" in done.stdout
    kills, memories = (int(re.search(rf"{what}: (\d+)", done.stdout)[1]) for what in ("kills", "memories"))  # type: ignore[index]
    assert kills > 3
    assert memories > 0
