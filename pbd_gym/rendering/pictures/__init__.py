"""Pictures for people, one environment at a time; pygame is imported only when needed."""
