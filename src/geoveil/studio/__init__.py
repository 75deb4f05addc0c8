"""The studio: choose, look and release in a browser, on the user's own machine."""
