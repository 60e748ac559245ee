"""The small grammar of claims: a table of phrases, the sentences that may have one, and what predicates mean."""
