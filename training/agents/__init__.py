"""What acts: small policies of arrays, which need NumPy alone, and the networks that are trained."""
