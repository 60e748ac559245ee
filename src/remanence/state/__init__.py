"""What a space knows of names, entities, relations and links: indexes of the ledger, below the rest."""
