"""The five steps from data to a release: take in, charge, draw, store, shape."""
