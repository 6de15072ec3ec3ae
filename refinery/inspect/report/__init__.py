"""Report of a run: one self-contained HTML page for a browser, a phone or paper."""
