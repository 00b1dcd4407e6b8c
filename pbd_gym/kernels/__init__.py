"""Warp kernels of the engine. Importing a module here imports Warp; nothing is compiled before the first launch."""
