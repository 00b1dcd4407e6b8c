"""What bodies are made of, in SI units: compliances from elastic moduli, measured fabrics, presets with sources."""
