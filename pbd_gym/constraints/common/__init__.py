"""What several constraint kinds share, and what every kind consists of."""
