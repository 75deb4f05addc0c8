"""The service: pings of location apps come in, and places that streams released go out."""
