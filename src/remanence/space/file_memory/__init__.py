"""Files that a model keeps notes in, stored as memories: `MemoryFiles`.

file_store.py     files and folders in a space, by checked paths; each write is a version
memory_files.py   the commands of a model's memory tool: view, create, str_replace, insert, delete, rename
"""

from remanence.space.file_memory.file_store import FileStore, FileVersion, StoredFile
from remanence.space.file_memory.memory_files import MemoryFiles

__all__ = ["FileStore", "FileVersion", "MemoryFiles", "StoredFile"]
