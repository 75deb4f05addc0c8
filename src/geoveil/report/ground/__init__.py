"""The ground of maps: what lies around a location, and base maps of the user."""
