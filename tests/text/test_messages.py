"""Messages name arguments in the words of their reader, and never read what is inserted into them."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from geoveil.cli.option_names import OPTIONS
from geoveil.text.messages import PYTHON, Message, worded

OUTSIDE = Message("{count} points are outside: {outside:clamp} moves them, see {locations.points}.", count=3)


def test_messages_by_reader() -> None:
    """One message has a text for each reader. Arguments are keywords in Python and options on the command line."""
    assert str(OUTSIDE) == '3 points are outside: outside="clamp" moves them, see locations.points().'
    assert OUTSIDE.worded(OPTIONS).startswith("3 points are outside: --outside clamp moves them")


@given(st.text())
def test_data_is_verbatim(text: str) -> None:
    """Braces and names in a value that a user gave are no placeholders."""
    assert str(Message("{area} has {label}.", label=text)) == f"area= has {text}."


@given(st.text())
def test_plain_texts(text: str) -> None:
    """A text that is no message is not read at all."""
    assert worded(text, PYTHON) == worded(text, OPTIONS) == text


def test_messages_are_values() -> None:
    """They can be compared and pickled, as errors hold them."""
    again = pickle.loads(pickle.dumps(OUTSIDE))
    assert again == OUTSIDE
    assert hash(again) == hash(OUTSIDE)
    assert again != Message("other")
    assert repr(again) == repr(str(OUTSIDE))
