"""What `make bench` runs: each module here that `__main__` lists has a `run() -> Table`."""
