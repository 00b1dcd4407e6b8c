"""Episodes of a policy in a batch: rolled out, evaluated, filmed."""
