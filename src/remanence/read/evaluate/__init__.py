"""`space.evaluate`: how often recall finds the expected memories, under several settings."""
