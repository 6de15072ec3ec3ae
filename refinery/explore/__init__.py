"""The local page of a run, `refinery explore`: charts, bounds to drag, samples to browse; read-only."""
