"""Tasks that fold a towel: in half, along its diagonal, twice, from a heap, from pictures."""
