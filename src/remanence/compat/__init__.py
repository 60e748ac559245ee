"""The interfaces of other memory libraries, for programs that are written against them.

mem0.py             `Memory` and `AsyncMemory` of mem0
mem0_config.py      what of mem0's configuration can be used
"""
