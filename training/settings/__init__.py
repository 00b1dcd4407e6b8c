"""Settings of training: arguments of commands, settings of algorithms, and the numbers tuned for each id."""
