"""Operations on a whole space: statistics and pages, export and import, compaction."""
