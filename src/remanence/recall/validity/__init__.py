"""Which memory was valid at the time that a question asks about. All of recall that decides this is here.

superseded   which rows something superseded: a later version, a link or a later claim
current      which rows may be returned; the factor for turns dated after the question; the mark `Hit.current`
by_claims    before a reader reads: the order by given times, links and claims. It decides which rows are read
other_times  its part for questions about another time: rows that were valid then come first
by_reader    the final order, by what the reader says of each hit, and by the signals
ended        for a profile: how likely each memory has ended, by what a reader says of it beside later ones

What claims say of the time asked about stands above what the reader says; the reader decides what no claim decides.
Nothing is closed in the ledger because of a question.
"""
