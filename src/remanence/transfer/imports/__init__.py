"""Import from other programs: each source is read as a stream of records, which `importing.py` writes to a space.

records.py       what a source yields: records, and what it leaves out
detection.py     which format a file or folder is of
importing.py     records -> memories, in batches; a record that was imported before is skipped
files.py         JSON and text files in a folder, a zip file or by themselves, with line numbers
formats.txt      formats as tables, read by tables.py: which field of an object becomes which argument of `add`
chat_exports.py  exports of ChatGPT and Claude
markdown.py      folders of notes, and text files
"""
