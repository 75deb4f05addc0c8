"""Text for people: numbers and lengths in words, values as people type them, messages, and cards for notebooks."""
