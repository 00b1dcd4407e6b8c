"""The simulation of a batch: model, state, control, solver, graph colouring, launch plan and memory report."""
