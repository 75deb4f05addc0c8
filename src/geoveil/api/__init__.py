"""Joins geo and queries: any form in, a Release out."""
