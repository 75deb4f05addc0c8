"""What the host decides: processes, numpy's arithmetic, private files, and files of other programs."""
