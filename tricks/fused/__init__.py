"""The loop's learning in a few compiled calls a minibatch: the tricks' formulas once more, row by row."""
