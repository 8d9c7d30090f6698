"""The exercises: what is to be written, and the mistakes that are recognized."""
