"""Small transformers: which are known by name, how their files get here, and how they run.

catalogue.py    the models, the wheels that carry them, and `get`
session.py      one model of a folder, through onnxruntime
"""
