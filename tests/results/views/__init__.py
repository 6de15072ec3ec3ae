"""Tests of the views over the tables of a run."""
