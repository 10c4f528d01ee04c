"""Settings: typed, closed to unknown keys, and each with a source that can be shown.

One order everywhere: arguments, then environment (`MNEMIC_...`), then the config file, then the default.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from .checks import UNSTORABLE, masked_url, shown
from .errors import ConfigError, nearest

ENV_PREFIX = "MNEMIC_"
IN_MEMORY = ":memory:"
POSTGRES_URL = re.compile(r"postgres(?:ql)?://")
# How the names of settings end whose values are never shown.
SECRET = re.compile(r"(?:key|key_id|secret|token|password|credentials|credentials_json)\Z", re.IGNORECASE)
# Settings of a model that hold others, which may be secrets under any name.
HOLDERS = frozenset({"body", "headers"})

# mem0's top-level keys that mean nothing here, and what to do instead.
FOREIGN_KEYS = {
    "vector_store": "vectors are kept in mnemic's own store, so name that with `store` instead",
    "graph_store": "relations are kept in mnemic's own store, so leave graph_store out",
    "history_db_path": "the history is kept in mnemic's own store, so name that with `store` instead",
}


class Editing(StrEnum):
    """How new facts meet old ones: as changes, corrections, refinements, repeats and ends; only beside them; or by
    mem0 1.x's second step."""

    SUPERSEDE = "supersede"
    APPEND = "append"
    RECONCILE = "reconcile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings of one `Memory`.

    store: a file path, ":memory:", a `postgresql://` URL, or None for `memory.db` in the data directory.
    tenant: whose data this instance may touch at all. embedder, llm: a name, a mapping of settings, or an
    object (see `models`); decide_llm, vision_llm: likewise, for second decisions and for images.
    editing: how facts that an LLM draws meet older ones (`EDITING`). custom_instructions: added to its prompt word
    for word. custom_fact_extraction_prompt, custom_update_memory_prompt: instead of its instructions, as in mem0
    1.x. categories: those that facts may have; a list of names, or names with what belongs to each. trace_days: how
    long each step of an add is kept.
    timezone: IANA name in which naive times and days are read; None is UTC. index_mb: memory that search
    indexes may hold, in MiB. recency: how scores fade with time (`recall.recency`); None: they do not.
    sources: where each given value came from ("argument", "env", "file").
    """

    store: str | None = None
    tenant: str = "default"
    embedder: Any = None
    llm: Any = None
    decide_llm: Any = None
    vision_llm: Any = None
    editing: str | None = None
    custom_instructions: str | None = None
    custom_fact_extraction_prompt: str | None = None
    custom_update_memory_prompt: str | None = None
    categories: Any = None
    trace_days: int = 30
    timezone: str | None = None
    index_mb: int = 512
    recency: Any = None
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def mode(self) -> Editing:
        """The way of editing in force: mem0's classic one where its settings were given."""
        if self.editing is not None:
            return Editing(self.editing)
        classic = self.custom_fact_extraction_prompt or self.custom_update_memory_prompt
        return Editing.RECONCILE if classic else Editing.SUPERSEDE


EDITING = tuple(Editing)
MODELS = ("embedder", "llm", "decide_llm", "vision_llm")
KEYS = tuple(f.name for f in fields(Config) if f.name != "sources")


PROMPTS = ("custom_instructions", "custom_fact_extraction_prompt", "custom_update_memory_prompt")


def checked_categories(value: Any, field: str) -> dict[str, str] | None:
    """Categories as names with what belongs to each: from names, `{name: what}`, or a list of either (mem0's form)."""
    if value is None:
        return None
    listed = [value] if isinstance(value, Mapping) else value
    if isinstance(listed, str) or not isinstance(listed, list | tuple) or not listed:
        raise ConfigError(
            f"{field} must be a list of names, or of {{name: what belongs to it}}, not {shown(value)}."
        )
    found: dict[str, str] = {}
    for one in listed:
        found.update(one if isinstance(one, Mapping) else {one: ""})
    for name, what in found.items():
        if not (isinstance(name, str) and name.strip() and isinstance(what, str)):
            raise ConfigError(f"{field} names the category {shown(name)}: {shown(what)}; both must be texts.")
    return found


def data_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where stores and the config file lie by default: `MNEMIC_HOME`, else the user's data directory."""
    home = environ.get("MNEMIC_HOME")
    if home:
        return Path(home)
    from platformdirs import user_data_path

    return user_data_path("mnemic", appauthor=False)


def store_location(settings: Config) -> Path | str | None:
    """Where the store is: a file, absolute, the URL of a PostgreSQL database, or None for memory."""
    if settings.store == IN_MEMORY:
        return None
    if settings.store is not None and POSTGRES_URL.match(settings.store):
        return settings.store
    if settings.store is None:
        return (data_directory() / "memory.db").absolute()
    try:
        return Path(settings.store).expanduser().absolute()
    except RuntimeError as fault:
        raise ConfigError(f"store = {settings.store!r} names the home of an unknown user.") from fault


def load(given: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Config:
    """The settings in force. None among `given` counts as not given.

    Raises `ConfigError` with path, value and nearest known key for anything unknown or of a wrong type.
    """
    layers = (
        ("argument", {key: value for key, value in given.items() if value is not None}),
        ("env", _from_environ(environ)),
        ("file", _from_file(environ)),
    )
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, layer in layers:
        for key, value in _translated(layer).items():
            if key not in values:
                values[key], sources[key] = value, source
    _check(values)
    if "categories" in values:
        values["categories"] = checked_categories(values["categories"], "categories")
    return Config(**values, sources=sources)


def shown_settings(config: Config) -> list[tuple[str, str, str]]:
    """Each setting as (name, value in force, source), secrets masked."""
    from .models.embed import best_installed

    rows = []
    for key in KEYS:
        value = getattr(config, key)
        if value is None and key == "store":
            value = store_location(config)
        elif value is None:
            value = {"embedder": best_installed(), "timezone": "UTC", "editing": config.mode.value}.get(key)
        rows.append((key, _masked(value), config.sources.get(key, "default")))
    return rows


def _masked(value: Any) -> str:
    if isinstance(value, str) and "://" in value:
        return masked_url(value)
    if isinstance(value, Mapping):
        return str({key: _masked_setting(str(key), inner) for key, inner in value.items()})
    return str(value)


def _masked_setting(name: str, value: Any) -> Any:
    if value and (SECRET.search(name) or name in HOLDERS or isinstance(value, Mapping)):
        return "***"
    return masked_url(value) if isinstance(value, str) and "://" in value else value


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in KEYS:
        name = f"{ENV_PREFIX}{key.upper()}"
        section = {
            rest.removeprefix(f"{name}_").lower(): value
            for rest, value in environ.items()
            if rest.startswith(f"{name}_") and value
        }
        if section and key in MODELS:
            found[key] = {**({"provider": environ[name]} if environ.get(name) else {}), **section}
        elif environ.get(name):
            found[key] = environ[name]
    for key in ("index_mb", "trace_days"):
        if key in found and found[key].isdigit():
            found[key] = int(found[key])
    if "recency" in found:
        try:
            found["recency"] = json.loads(found["recency"])
        except ValueError as fault:
            raise ConfigError(f"{ENV_PREFIX}RECENCY must be a JSON object: {fault}") from fault
    if "categories" in found:
        found["categories"] = [name.strip() for name in found["categories"].split(",")]
    return found


def _from_file(environ: Mapping[str, str]) -> dict[str, Any]:
    named = environ.get("MNEMIC_CONFIG")
    path = Path(named) if named else data_directory(environ) / "config.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as fault:
        if named:
            raise ConfigError(f"MNEMIC_CONFIG names {named!r}, which does not exist.") from fault
        return {}
    except (OSError, UnicodeDecodeError) as fault:
        if isinstance(fault, PermissionError) and not named:
            return {}
        raise ConfigError(f"The config file {path} cannot be read: {fault}") from fault
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise ConfigError(f"The config file {path} is not valid TOML: {fault}") from fault


def _translated(layer: Mapping[str, Any]) -> dict[str, Any]:
    """A layer in our keys: mem0's `{provider, config}` sections are flattened, foreign stores refused."""
    found: dict[str, Any] = {}
    for key, value in layer.items():
        if key in FOREIGN_KEYS:
            # Of a section only the provider: the rest may hold a password.
            named = value.get("provider", "...") if isinstance(value, Mapping) else value
            raise ConfigError(f"{key} = {shown(named)} is not supported: {FOREIGN_KEYS[key]}.")
        if key == "version":
            continue
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise ConfigError(f"Unknown setting {key!r}{nearest(str(key), KEYS)}; known are {known}.")
        found[key] = _flat(key, value) if key in MODELS else value
    return found


def _flat(key: str, section: Any) -> Any:
    """mem0's `{"provider": p, "config": {...}}` as one mapping in our keys."""
    if not isinstance(section, Mapping) or "config" not in section:
        return section
    provider = section.get("provider", "openai")
    inner = section["config"] or {}
    if not isinstance(inner, Mapping):
        raise ConfigError(f"{key}.config must be a mapping of settings, not {type(inner).__name__}.")
    renamed = {"embedding_dims": "dims", f"{provider}_base_url": "base_url"}
    return {"provider": provider, **{renamed.get(name, name): value for name, value in inner.items()}}


def _check(values: Mapping[str, Any]) -> None:
    for key in ("store", "tenant", "timezone", "editing", *PROMPTS):
        value = values.get(key)
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise ConfigError(f"{key} must be a non-empty string, not {shown(value)}.")
        if value is not None and UNSTORABLE.search(value):
            raise ConfigError(f"{key} = {shown(masked_url(value))} holds NUL or half a surrogate pair.")
    for key, least, unit in (("index_mb", 1, "MiB"), ("trace_days", 0, "days")):
        size = values.get(key, least)
        if isinstance(size, bool) or not isinstance(size, int) or size < least:
            raise ConfigError(f"{key} must be a whole number of {unit} from {least} on, not {shown(size)}.")
    mode = values.get("editing")
    if mode is not None and mode not in EDITING:
        raise ConfigError(
            f"editing must be one of {', '.join(EDITING)}, not {shown(mode)}{nearest(mode, EDITING)}."
        )
    store = values.get("store")
    if store is not None and "://" in store and not POSTGRES_URL.match(store):
        scheme = store.partition("://")[0]
        raise ConfigError(
            f"store has the scheme {scheme!r}; accepted are a file path, ':memory:' and a URL that begins with"
            " postgresql:// or postgres://."
        )
