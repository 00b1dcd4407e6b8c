"""What tasks are composed of: starts, goals, scores and experts."""
