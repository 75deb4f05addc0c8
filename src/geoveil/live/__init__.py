"""Live locations: a stream of pings under one promise, filtered for free."""
