"""Other engines, and hand-written C, on the scenes of W1 and W6. Engines have to be installed by hand."""
