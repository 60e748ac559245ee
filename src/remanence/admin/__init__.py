"""A space as a whole: counting, paging, export and import, compacting."""
