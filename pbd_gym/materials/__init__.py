"""Materials in SI units: compliances from elastic moduli, measured fabrics, presets with sources."""
