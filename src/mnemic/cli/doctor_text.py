"""What the doctor found, the way people read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mnemic.config import IN_MEMORY

from . import show
from .doctor import Database, Finding, Model, Report, Settings

if TYPE_CHECKING:
    from rich.text import Text

MARKS = {True: "ok", False: "FAILS", None: "-"}
SOURCES = {
    "argument": "from an option",
    "env": "from the environment",
    "file": "from the config file",
}
NO_LLM = (
    "None configured, and none is needed: `add` keeps the user's own statements, word for word (extractor"
    " 'statements'). They are not rephrased, and only a plain change such as \"I moved to X\" closes an old one."
)
NO_EMBEDDER = "None: memories are found by their words, not by their meaning."


def print_report(report: Report) -> None:
    """A paragraph a part, then whether all works."""
    console = show.make_console()
    parts: dict[str, tuple[Finding, Iterator[str]]] = {
        "config": (report.config, _config(report.config)),
        "embedder": (report.embedder, _embedder(report.embedder)),
        "llm": (report.llm, _llm(report.llm)),
    }
    if report.store is not None:
        parts["store"] = (report.store, _store(report.store))
    for name, (finding, told) in parts.items():
        lines: list[str | Text] = [show.clean(line) for line in told]
        if finding.problem is not None:
            lines.append(show.clean(finding.problem))
        if finding.fix is not None:
            lines.append(show.clean(f"=> {finding.fix}"))
        show.beside(console, f"{name:<9} {MARKS[finding.works]:<5} ", *lines)
    versions = (f"{name} {version or 'not installed'}" for name, version in report.versions.items())
    show.beside(console, f"{'versions':<15} ", ", ".join(versions))
    failing = [name for name, (finding, _) in parts.items() if finding.works is False]
    console.print()
    console.print(f"Not working: {', '.join(failing)}." if failing else "All that is configured works.")


def _config(found: Settings) -> Iterator[str]:
    yield found.file if found.file_exists else f"{found.file}: not there; `mnemic init` writes one."
    for name, value, source in found.settings:
        if source != "default":
            yield f"{name} = {value} ({SOURCES[source]})"
    for variable in found.unknown:
        yield f"The environment holds {variable}, which is no setting."


def _embedder(found: Model) -> Iterator[str]:
    if found.name is not None:
        dims = "" if found.dims is None else f", {found.dims} dimensions"
        chosen = "the best installed" if found.source == "default" else SOURCES[found.source]
        yield f"{found.name}{dims} ({chosen})"
    if found.first_ms is not None and found.ms is not None:
        yield f"{found.ms:.1f} ms to embed a sentence; the first took {found.first_ms:,.0f} ms, loading included."
    if found.works is None and found.problem is None:
        yield NO_EMBEDDER


def _llm(found: Model) -> Iterator[str]:
    if found.name is not None:
        yield f"{found.name} ({SOURCES[found.source]})"
    if found.first_ms is not None:
        yield f"It answered within {found.first_ms:,.0f} ms."
    if found.works is None and found.problem is None:
        yield NO_LLM


def _store(found: Database) -> Iterator[str]:
    yield found.path
    if found.works is None:
        in_memory = found.path == IN_MEMORY
        yield (
            "Gone when the process ends." if in_memory else "Not there yet: the first `mnemic add` makes it."
        )
    if not found.exists:
        return
    log = f", and {_size(found.wal_bytes)} in its write-ahead log" if found.wal_bytes is not None else ""
    yield f"{_size(found.bytes)}{log}"
    if found.counts is not None:
        counts = found.counts
        yield (
            f"{show.count(counts['memories'], 'memory')} of {show.count(counts['owners'], 'owner')},"
            f" {counts['superseded_or_expired']:,} replaced or expired, {counts['deleted']:,} deleted,"
            f" {show.count(counts['messages'], 'message')}"
        )
    if found.schema_version is not None:
        newest = " (the newest)" if found.schema_version == found.newest_schema_version else ""
        yield f"schema version {found.schema_version}{newest}, vectors of {found.vectors or 'no model yet'}"
    if found.sound:
        yield f"No damage found, in {found.check_ms:.0f} ms."
    elif found.check_ms is not None:
        yield f"No damage found so far, in {found.check_ms:.0f} ms; `mnemic doctor --full` searches all of it."
    if found.busy:
        yield "Another process is writing to it just now."


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < 1024:
            return f"{number:,.0f} bytes" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} GB"
