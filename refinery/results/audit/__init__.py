"""Audit of deduplicators: sampled pairs of removed and kept samples, hubs, chains."""
