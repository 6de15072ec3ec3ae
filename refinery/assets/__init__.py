"""Models and word lists that operators load: what a recipe needs, where it is looked for, where it is to be had."""
