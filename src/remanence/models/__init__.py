"""The models a space can use: embedders, readers, extractors and language models.

embedders.py       text to vectors: the built-in table, transformers by name, embedders of other libraries
readers.py         readers, which score hits for a question, and the text that they are given
text_model.py      the two small transformers that come with the package, and others as ONNX
message_words.py   what the words of a message say about it
turn_classes.py    what a memory is, by its vector
                   ended_weights.tsv: the weights by which the profile leaves out what has ended
catalogue.py       the transformers that are known by name
extractors.py      the extractor for what a caller passes
llm_extractor.py   facts, profiles and merged texts from a language model
    llm_clients.py   language models of other libraries
    llm_source.py    a conversation in chunks, as a prompt shows it
    llm_facts.py     the rows of an answer, and the fact of each, checked against the conversation and its quotation
    llm_dates.py     the dates of a fact, checked against its quotation
time_limit.py      calls of a caller's code with a time limit; who calls a model first gets it first
"""
