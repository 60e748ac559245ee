"""Import from other programs: each source is read as a stream of records, which `importing.py` writes to a space.

records.py       what a source yields: records, and what it leaves out; SQLite files, opened to read only
detection.py     which format a file or folder is of
importing.py     records -> memories, in batches; a record that was imported before is skipped
json_files.py    JSON and text files in a folder, a zip file or by themselves, read in pieces, with line numbers
tables.py        a format as a table: which field of an object becomes which argument of `add` or `add_turns`
formats.txt      these tables: Zep, Letta, Hindsight, MCP memory server, Gemini, LangGraph as JSON, WhatsApp, CSV;
                 formats.py takes their objects apart
whatsapp.py      a chat of WhatsApp as rows
markdown.py      folders of notes, bundles of the Open Knowledge Format, and texts without a format
databases.py     databases of mem0 and memvara
chat_exports.py  langgraph.py    one source each
"""
