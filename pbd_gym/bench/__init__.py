"""Benchmarks: named workloads, peers measured in the same run, and the table in the README."""
