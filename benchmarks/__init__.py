"""Benchmarks; README.md has their tables."""
