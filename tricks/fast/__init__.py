"""What a CPU computes fast: each function equals a plain formula, up to rounding, and a test holds it to that."""
