"""What the ledger entries of a space add up to: versions, names, entities, relations, links, jobs, usage."""
