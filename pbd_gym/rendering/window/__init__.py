"""Window in which a person watches and manipulates a simulation."""
