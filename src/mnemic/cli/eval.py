"""`mnemic eval locomo`: read the file, open a fresh store, show the table."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import typer

from mnemic.evals import locomo as measure
from mnemic.memory import Memory

from . import inputs, show
from .call import Call

UNITS = ("turns", "facts")


def locomo(call: Call, file: str, units: str, limit: int | None, say: measure.Say) -> None:
    """Measure and show; progress goes through `say`."""
    if units not in UNITS:
        raise typer.BadParameter(f"{units!r} is neither 'turns' nor 'facts'.", param_hint="--units")
    kind = cast("Literal['turns', 'facts']", units)
    raw = inputs.from_json_file(file, "FILE")
    conversations = measure.read_conversations(raw, kind)[:limit]
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-eval-") as directory,
        Memory(str(Path(directory) / "eval.db")) as memory,
    ):
        report = measure.run(memory, conversations, kind, say)
    call.show(as_mapping(report), show_report)


def as_mapping(report: measure.Report) -> dict[str, Any]:
    """A report as JSON has it; recall is by group and cut."""
    return {
        "units": report.units,
        "conversations": report.conversations,
        "memories": report.memories,
        "embedder": report.embedder,
        "recall": {
            row.group: {
                "questions": row.questions,
                **{str(cut): round(value, 4) for cut, value in zip(measure.CUTS, row.recall, strict=True)},
            }
            for row in report.rows
        },
        "search_ms": _times(report.search_ms),
        "embedding_ms": None if report.embedding_ms is None else _times(report.embedding_ms),
        "add_seconds": round(report.add_seconds, 2),
    }


def show_report(report: Mapping[str, Any]) -> None:
    """The table for people."""
    from rich.table import Table

    console = show.make_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("fractional recall")
    for heading in ("questions", *(f"@{cut}" for cut in measure.CUTS)):
        table.add_column(heading, justify="right")
    for group, row in report["recall"].items():
        table.add_row(group, f"{row['questions']:,}", *(f"{row[str(cut)]:.3f}" for cut in measure.CUTS))
    conversations = show.count(report["conversations"], "conversation")
    console.print(f"LoCoMo, {report['units']}: {conversations}, {report['memories']:,} memories")
    console.print(f"embedder: {report['embedder'] or 'none'}")
    console.print(table)
    search, embedding = report["search_ms"], report["embedding_ms"]
    console.print(
        f"search() p50 {search['p50']:.1f} ms, p95 {search['p95']:.1f} ms, embedding the query included"
    )
    if embedding is not None:
        console.print(f"embedding alone p50 {embedding['p50']:.1f} ms, p95 {embedding['p95']:.1f} ms")


def _times(times: tuple[float, float]) -> dict[str, float]:
    return {"p50": round(times[0], 2), "p95": round(times[1], 2)}
