"""What is asked for: arguments of commands, settings of algorithms, and the numbers tuned for each id."""
