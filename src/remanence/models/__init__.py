"""The models a space can use: embedders, rerankers, extractors and language models."""
