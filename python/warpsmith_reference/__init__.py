"""The process in which a problem's reference.py runs: confined, asked through a pipe."""
