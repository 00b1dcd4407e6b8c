"""Motion from velocities to positions and back, and the drag of the air."""
