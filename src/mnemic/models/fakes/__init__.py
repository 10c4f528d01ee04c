"""Models without a model, for tests: deterministic, scripted or broken on purpose. They need no network.

memory = Memory(":memory:", embedder=HashEmbedder(), llm=ScriptedLLM(['{"facts": []}']))
"""

from __future__ import annotations

from .embedders import ConstantEmbedder, Fault, FaultyEmbedder, HashEmbedder
from .llms import FaultyLLM, LLMFault, LLMRequest, ScriptedLLM
from .server import ChatReply, RecordedRequest, ScriptedServer, ServerFaults

__all__ = [
    "ChatReply",
    "ConstantEmbedder",
    "Fault",
    "FaultyEmbedder",
    "FaultyLLM",
    "HashEmbedder",
    "LLMFault",
    "LLMRequest",
    "RecordedRequest",
    "ScriptedLLM",
    "ScriptedServer",
    "ServerFaults",
]
