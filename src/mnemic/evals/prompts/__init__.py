"""Judging prompts: cases with what must come of them, what a model answered, what became of the memories."""
