"""`python -m geoveil` is the command line."""

from geoveil.cli import main

main()
