"""Names of places in one spelling: without case, accents, punctuation and abbreviations."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["folded"]

#: Letters that Unicode does not take apart into a base letter and an accent.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ə": "e"})
_WORDS = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "&": "and"}
#: Everything but letters, digits and & separates words; an apostrophe or a full stop within a word does not.
_WITHIN, _BETWEEN = re.compile(r"(?<=\w)['’‘ʻʼ`.](?=\w)"), re.compile(r"[^\w&]+")


def folded(name: str) -> str:
    """Return a name in one spelling, so that two ways to write it are equal.

    Examples
    --------
    >>> folded("St. Gallen"), folded("SAINT-GALLEN"), folded("Zürich"), folded("U.S.A.")
    ('saint gallen', 'saint gallen', 'zurich', 'usa')
    """
    name = name.casefold()
    if not name.isascii():
        parts = unicodedata.normalize("NFKD", name)
        name = "".join(letter for letter in parts if not unicodedata.combining(letter)).translate(_LETTERS)
        name = unicodedata.normalize("NFC", name)
    words = _BETWEEN.sub(" ", _WITHIN.sub("", name)).split()
    return " ".join(_WORDS.get(word, word) for word in words)
