"""What the Makefile calls to set a machine up; no part of the installed package."""
