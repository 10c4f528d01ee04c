"""Outside models behind small protocols: embedders, LLMs, rerankers, and fakes that users can test with."""
