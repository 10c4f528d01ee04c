"""add(): from what was said, or given, to proposals ready to be embedded and stored."""
