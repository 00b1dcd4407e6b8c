"""The window in which a person watches and handles a simulation."""
