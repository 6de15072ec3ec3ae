"""Looking around in a finished run: samples by their outcome, texts by their words, clusters, quarantine, input fields."""
