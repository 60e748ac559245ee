"""Make `time_words.txt`: the words that name a time in the languages of dateparser, to tell which one a text is in.

python benchmarks/build_time_words.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dateparser.data.languages_info import language_order
from dateparser.languages.loader import default_loader

from remanence.text.lexicon.word_lists import FIRST_NAMES, is_common_word
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.time_translation import further_months
from remanence.text.text import STOP_WORDS, split_words

NAMES = (*vocab.MONTH_NAMES, *vocab.DAY_NAMES)
SHORTEST = 4
"""Letters of a word in Latin letters; shorter ones are words of many languages."""
MAY = "maj"
"""Short, and a word of the languages whose May it is only."""
BUT = "mais"
"""May in Estonian, and a frequent word of French and Portuguese."""
HEAD = "# For each language of dateparser its words for months, weekdays and days such as yesterday, by"
HEAD += " benchmarks/build_time_words.py."


def time_words() -> Iterator[str]:
    """The lines of the file; the languages that more people speak come first."""
    yield HEAD
    for code in language_order:
        info = default_loader.get_locale(code).info
        forms = [form for name in NAMES for form in info.get(name, ())]
        forms += [form for phrases in info.get("relative-type", {}).values() for form in phrases]
        forms += [key for each in info.get("simplifications", ()) for key in each if key.isalpha()]
        forms += [form for months in further_months(code).values() for form in months]
        words = {word for form in forms for word in split_words(form) if tells(word)}
        if code != "en" and words:
            yield f"{code} {' '.join(sorted(words))}"


def tells(word: str) -> bool:
    if not word.isascii():
        return len(word) > 2 and not any(letter.isdigit() for letter in word)
    known = word in STOP_WORDS or word in FIRST_NAMES or word in vocab.TIME_NOUNS or is_common_word(word)
    return word == MAY or (len(word) >= SHORTEST and word.isalpha() and not known and word != BUT)


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "src" / "remanence" / "text" / "temporal" / "time_words.txt"
    target.write_text("\n".join(time_words()) + "\n", "utf-8")
