"""Import from other programs: each source is read as a stream of records, which `importing.py` writes to a space.

records.py       what a source yields: records, and what it leaves out
detection.py     which kind of source a file or folder is
importing.py     records -> memories, in batches; a record that was imported before is skipped
json_files.py    JSON files in a folder, a zip file or by themselves, read in pieces
sqlite_file.py   SQLite files, opened to read only
chat_exports.py  langgraph.py  mem0.py  memvara.py  markdown.py    one source each
"""
