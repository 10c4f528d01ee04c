"""Measurements that anyone can repeat: published questions asked through the public API, no LLM anywhere."""
