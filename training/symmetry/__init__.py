"""Symmetries of tasks: where vectors stand in a row of what agents see, and what a reflection makes of it."""
