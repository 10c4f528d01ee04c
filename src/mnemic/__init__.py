"""Long-term memory for AI agents: one file, no server, nothing lost, every answer explained."""
