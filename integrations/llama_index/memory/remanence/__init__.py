"""The public names of `llama_index_remanence`, under the import path of LlamaIndex's own integrations.

`llama_index` and `llama_index.memory` are namespace packages: several distributions add modules to them, so neither
may have an `__init__.py`.
"""

from llama_index_remanence import *  # noqa: F403
from llama_index_remanence import __all__ as __all__
