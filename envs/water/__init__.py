"""Tasks with cups of water."""
