"""Forms of location data and the coordinate systems they come in. No privacy here."""

from geoveil.geo.forms import Form, enter

__all__ = ["Form", "enter"]
