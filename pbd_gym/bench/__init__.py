"""Benchmarks: named workloads, peers measured in the same run, and the tables in docs/speed.md."""
