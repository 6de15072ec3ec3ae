"""`python -m refinery`."""

from refinery.cli import main

main()
