"""Names, claims and facts found by rule, in English."""
