"""Measurements that anyone can repeat, on labelled data and through the public API; only `prompts` is about an LLM."""
