"""From a conversation to facts that evolve: reading, judging, jobs, profiles."""
