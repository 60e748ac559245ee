"""The models a space can use: embedders, readers, extractors and language models."""
