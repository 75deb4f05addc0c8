"""The formats of clients: what is read from each, and the messages about released places."""
