"""The way of a scene to its device: tables that kernels read, and the scratch memory that goes with them."""
