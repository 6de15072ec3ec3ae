"""What earlier runs have left that still holds, and what it holds for."""
