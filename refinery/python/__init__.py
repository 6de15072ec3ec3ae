"""The objects of the Python interface: a finished run, the answers of its methods, progress and pages for notebooks."""
