"""Word lists and patterns, forms of verbs, topics, related words, and the language of a text."""
