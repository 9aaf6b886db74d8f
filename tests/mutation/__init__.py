"""Random one-token mutants of the source against the tests of their room: `make mutation`, or python -m mutation with PYTHONPATH=tests."""
