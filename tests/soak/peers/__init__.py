"""Random documents and parameters, and scripts that run the operators of other tools over them."""
