"""Building blocks of tasks: starts, goals, scores and experts."""
