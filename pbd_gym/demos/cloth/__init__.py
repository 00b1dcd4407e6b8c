"""One hanging sheet under several methods."""
