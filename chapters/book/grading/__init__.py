"""Grading: what a notebook asks, what a student answered, run in a process of its own, and what that is worth."""
