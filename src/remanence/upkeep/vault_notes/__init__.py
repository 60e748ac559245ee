"""Promoted memories as Markdown notes in a folder, and reading them back."""
