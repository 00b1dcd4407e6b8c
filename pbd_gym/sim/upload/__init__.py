"""Upload of a scene to its device: tables that kernels read, and the associated scratch memory."""
