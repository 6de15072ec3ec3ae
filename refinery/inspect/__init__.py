"""Inspection of runs and data: statistics without filtering, comparison of runs, trials of other bounds."""
