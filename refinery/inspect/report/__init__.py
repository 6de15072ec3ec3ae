"""One page about a run: HTML that stands alone, for a browser, a phone or paper."""
