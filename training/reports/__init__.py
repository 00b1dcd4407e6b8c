"""Reports: result files of the benchmark, tables, curves, means and intervals."""
