"""What one environment holds: particles, bodies, constraints and colliders, in NumPy, on no device yet."""
