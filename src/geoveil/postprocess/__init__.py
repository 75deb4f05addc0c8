"""Estimates computed from a release and public facts alone, at no further cost in privacy."""
