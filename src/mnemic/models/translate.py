"""mem0's settings of models in our words. A translation gets what was made so far, a value, and its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mnemic.checks import shown
from mnemic.errors import ConfigError, nearest

Translate = Callable[[dict[str, Any], Any, str], None]


def translated(
    settings: Mapping[str, Any], option: str, known: list[str], theirs: Mapping[str, Translate]
) -> dict[str, Any]:
    """Settings in our keys, from ours or mem0's, flat or as `{"provider": ..., "config": {...}}`.

    What is None among mem0's counts as not given. Raises ConfigError for an unknown key, naming the nearest.
    """
    given = dict(settings)
    inner = given.pop("config", None) or {}
    if not isinstance(inner, Mapping):
        raise _no_mapping(f"{option}.config", inner)
    given.update(inner)
    made: dict[str, Any] = {}
    # Ours first: mem0's keys may add to them.
    for key in sorted(given, key=lambda key: key not in known):
        value = given[key]
        if key in known:
            made[key] = value
        elif key not in theirs:
            raise ConfigError(f"{option}.{key} is not a setting{nearest(str(key), [*known, *theirs])}.")
        elif value is not None:
            theirs[key](made, value, f"{option}.{key}")
    return made


def same_as(name: str) -> Translate:
    """The same under our name; our own key wins."""
    return lambda made, value, _: made.setdefault(name, value)


def into(part: str, name: str | None = None) -> Translate:
    """One entry of `body` or `headers`, under its own name unless another is given."""

    def put(made: dict[str, Any], value: Any, path: str) -> None:
        made[part] = {**made.get(part, {}), name or path.rpartition(".")[2]: value}

    return put


def unsupported(why: str) -> Translate:
    """An error, unless the setting is off."""

    def refuse(made: dict[str, Any], value: Any, path: str) -> None:  # noqa: ARG001
        if value is not False:
            raise ConfigError(f"{path} is not supported: {why}.")

    return refuse


def needless(made: dict[str, Any], value: Any, path: str) -> None:
    """What mnemic finds out by itself."""


def into_body(made: dict[str, Any], value: Any, path: str) -> None:
    """Further fields of each request."""
    if not isinstance(value, Mapping):
        raise _no_mapping(path, value)
    made["body"] = {**value, **made.get("body", {})}


def azure(made: dict[str, Any], value: Any, path: str) -> None:
    """An Azure resource: its newer address takes the deployment as a model, an `api_version` its older one."""
    ours = {
        "api_key": "api_key",
        "azure_deployment": "model",
        "azure_endpoint": "base_url",
        "api_version": "api_version",
        "default_headers": "headers",
    }
    if not isinstance(value, Mapping):
        raise _no_mapping(path, value)
    for name, inner in value.items():
        if name not in ours:
            raise ConfigError(f"{path}.{name} is not a setting{nearest(str(name), ours)}.")
        if inner:
            made[ours[name]] = inner


def _no_mapping(path: str, value: object) -> ConfigError:
    return ConfigError(f"{path} is {shown(type(value).__name__)}; accepted: a mapping of settings.")


PROXIES = unsupported("set the environment variable HTTPS_PROXY instead")
AWS: Mapping[str, Translate] = {
    "aws_access_key_id": into("body"),
    "aws_secret_access_key": into("body"),
    "aws_session_token": into("body"),
    "aws_region": into("body", "aws_region_name"),
    "aws_profile": into("body", "aws_profile_name"),
}
