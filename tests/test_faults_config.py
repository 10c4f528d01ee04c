"""Settings (2.26): closed to unknown keys, one order of sources, secrets masked, mem0's dicts understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import RunPython
from mnemic import AsyncMemory, ConfigError, Memory
from mnemic.config import load, shown_settings
from mnemic.models.fakes import HashEmbedder


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"embeder": {"model": "x"}}, ["embeder", "did you mean 'embedder'"]),
        ({"embedder": {"provider": "openai", "modl": "x"}}, ["embedder.modl", "model"]),
        ({"embedder": {"provider": "openia", "model": "x"}}, ["embedder.provider", "openai"]),
        ({"embedder": {"model": "x"}}, ["embedder.provider"]),
        ({"embedder": {"provider": "openai", "model": "m", "base_url": "ftp://x"}}, ["embedder.base_url"]),
        ({"embedder": {"provider": "openai", "model": "m", "timeout": "soon"}}, ["embedder.timeout", "soon"]),
        ({"embedder": {"provider": "openai", "model": "m", "dims": 0}}, ["embedder.dims"]),
        ({"embedder": 5}, ["embedder", "5"]),
        ({"embedder": "no-such-provider"}, ["embedder", "no-such-provider"]),
        ({"embedder": HashEmbedder}, ["embedder", "HashEmbedder"]),
        ({"timezone": "Mars/Olympus"}, ["timezone", "Mars/Olympus"]),
        ({"timezone": 5}, ["timezone", "5"]),
        ({"index_mb": 0}, ["index_mb", "0"]),
        ({"index_mb": True}, ["index_mb", "True"]),
        ({"tenant": ""}, ["tenant"]),
        ({"tenant": 5}, ["tenant", "5"]),
        ({"store": 5}, ["store", "5"]),
        ({"store": " "}, ["store"]),
        ({"store": "mysql://localhost/x"}, ["store", "mysql"]),
        ({"vector_store": {"provider": "qdrant"}}, ["vector_store", "store"]),
        ({5: 1}, ["5"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_the_remedy(
    config: dict[Any, Any], words: list[str]
) -> None:
    for opener in (Memory.from_config, AsyncMemory.from_config):
        with pytest.raises(ConfigError) as caught:
            opener({"store": ":memory:", **config} if "store" not in config else config)
        for word in words:
            assert word in str(caught.value)


def test_an_unknown_keyword_of_the_constructor_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'timezone'"):
        Memory(":memory:", timezon="UTC")


def test_a_dict_works_in_the_constructor_and_in_from_config(tmp_path: Path) -> None:
    path = str(tmp_path / "own.db")
    for opener in (Memory, Memory.from_config):
        with opener({"store": path, "embedder": HashEmbedder(), "tenant": "t"}) as m:
            m.add("hello", user_id="u1", infer=False)
            assert m.get_all(user_id="u1")["total"] == 1


def test_mem0s_sections_are_understood(tmp_path: Path) -> None:
    config = {
        "version": "v1.1",
        "store": str(tmp_path / "own.db"),
        "embedder": {
            "provider": "openai",
            "config": {"model": "m", "openai_base_url": "http://127.0.0.1:9/v1", "api_key": "k"},
        },
    }
    with Memory.from_config(config) as m:
        assert m.get_all(user_id="u1")["total"] == 0


@pytest.fixture
def config_file(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    return home / "config.toml"


def sources(**given: Any) -> dict[str, tuple[str, str]]:
    return {name: (value, source) for name, value, source in shown_settings(load(given))}


def test_arguments_come_before_the_environment_before_the_file(
    config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text(
        'tenant = "from-file"\ntimezone = "Asia/Shanghai"\nindex_mb = 64\n', encoding="utf-8"
    )
    monkeypatch.setenv("MNEMIC_TENANT", "from-env")
    monkeypatch.setenv("MNEMIC_TIMEZONE", "Europe/Berlin")
    found = sources(tenant="from-argument")
    assert found["tenant"] == ("from-argument", "argument")
    assert found["timezone"] == ("Europe/Berlin", "env")
    assert found["index_mb"] == ("64", "file")
    assert found["store"][1] == "default"


def test_the_settings_in_force_are_those_used(config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_file.write_text('timezone = "Asia/Shanghai"\nembedder = "none"\n', encoding="utf-8")
    monkeypatch.setenv("MNEMIC_TIMEZONE", "Europe/Berlin")
    with Memory() as m:
        m.add("hi", user_id="u1", infer=False, timestamp="2024-07-20T09:00:00")
        assert m.messages(user_id="u1")["results"][0]["timestamp"] == "2024-07-20T07:00:00+00:00"
        assert m.stats()["embedder"] is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("tenant = ", "TOML"),
        ('tenannt = "x"', "tenant"),
        ("index_mb = 'many'", "index_mb"),
        ("\xff", "config"),
    ],
)
def test_a_broken_config_file_is_an_error_that_says_where(config_file: Path, text: str, word: str) -> None:
    config_file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=word):
        Memory()


def test_a_config_file_that_is_named_and_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_CONFIG", "nowhere.toml")
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        Memory()


def test_secrets_are_masked() -> None:
    settings = {
        "provider": "openai",
        "model": "m",
        "base_url": "http://127.0.0.1:9",
        "api_key": "sk-very-secret",
    }
    config = load({"embedder": settings})
    assert "sk-very-secret" not in str(shown_settings(config))
    assert "***" in str(shown_settings(config))
    with pytest.raises(ConfigError) as caught:
        Memory(":memory:", embedder={**settings, "timeout": -1})
    assert "sk-very-secret" not in str(caught.value)


def test_the_home_directory_is_made_when_it_is_not_there(home: Path) -> None:
    assert not home.exists()
    with Memory(embedder="none") as m:
        m.add("hi", user_id="u1", infer=False)
    assert (home / "memory.db").is_file()


def test_a_path_object_is_a_path(tmp_path: Path) -> None:
    with Memory(tmp_path / "deep" / "er" / "own.db", embedder="none") as m:
        m.add("hi", user_id="u1", infer=False)
    assert (tmp_path / "deep" / "er" / "own.db").is_file()


@pytest.mark.parametrize("tenant", ["half \ud83e", "nul \0"])
def test_a_tenant_that_cannot_be_stored_is_refused_at_the_door(tenant: str) -> None:
    with pytest.raises(ConfigError, match="tenant"):
        Memory(":memory:", embedder="none", tenant=tenant)


def test_a_section_of_settings_that_is_none_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="embedder"):
        Memory.from_config({"store": ":memory:", "embedder": {"provider": "openai", "config": "x"}})


@pytest.mark.parametrize("llm", [{"provider": "openai", "temprature": 0}, {"temprature": 0}, 5])
def test_the_settings_of_an_llm_are_checked(llm: Any) -> None:
    with pytest.raises(ConfigError, match="llm"):
        Memory.from_config({"store": ":memory:", "embedder": "none", "llm": llm})


@pytest.mark.parametrize("config", [None, "a.db", 5, [("store", ":memory:")]])
def test_a_configuration_is_a_mapping(config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError):
        Memory.from_config(config)


def test_a_config_file_out_of_reach_does_not_hinder_who_names_a_store(
    run_python: RunPython, tmp_path: Path
) -> None:
    script = """
import os, tempfile
from mnemic import Memory
Memory(":memory:", embedder="none").close()
if os.getuid() == 0:
    os.setuid(65534)
Memory(tempfile.mkdtemp() + "/a.db", embedder="none").close()
"""
    private = tmp_path / "private"
    private.mkdir(mode=0)
    try:
        run_python(script, MNEMIC_HOME=str(private / "home"))
    finally:
        private.chmod(0o700)
