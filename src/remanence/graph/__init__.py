"""The temporal knowledge graph: reading it, writing relations and links, entities, histories, pictures."""
