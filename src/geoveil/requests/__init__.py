"""Requests about files, shared by the command line and the studio: what is asked, foreseen, run and shown as code."""
