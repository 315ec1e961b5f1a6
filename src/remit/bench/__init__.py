"""Benchmarks: this machine, remit and hand-written loops, side by side in one run."""
