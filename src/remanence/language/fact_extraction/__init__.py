"""Facts of conversations, by rules: sentences in the third person, with claims, times and verdicts on older facts."""
