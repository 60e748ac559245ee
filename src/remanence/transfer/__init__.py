"""Operations on a whole space: statistics and pages, export and import, compaction.

overview.py         the memories of a space by status, page by page, and their number
browse.py           all memories as a table, filtered and sorted
export_file.py      export as JSON lines
import_file.py      import of such a file
jsonlines.py        files of JSON lines that show whether they are complete
imports/            import from other programs
compaction.py       frees disk space
migration.py        copies a ledger from a folder to a database or back, encrypts a folder, and changes its key
"""
