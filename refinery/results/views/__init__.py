"""Views over the tables of a run, and comments on all of them."""
