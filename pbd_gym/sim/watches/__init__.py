"""What a solver looks out for while it steps, and warns of."""
