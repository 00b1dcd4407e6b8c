"""Position-based fluids. A group is one environment, and vectors run over the neighbours of a particle."""
