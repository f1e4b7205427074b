"""Bad input drawn at random for every door of the package: `make fuzz N=1000`."""
