"""What mem0 left behind: its local data directories (1.x and 2.x) and its platform's JSON exports.

Nothing here imports mem0 or qdrant_client, changes a file of theirs, or runs what a file says.
"""
