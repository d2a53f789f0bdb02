"""Compare finished runs: python compare.py sweep=NAME."""
