"""Deciding from the numbers: statistics described without filtering, runs compared, bounds tried."""
