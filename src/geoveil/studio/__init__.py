"""The studio: choose, look and release in a browser, on one's own machine."""
