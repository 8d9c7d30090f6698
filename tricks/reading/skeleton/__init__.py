"""The parts of an export that are written for it: what surrounds the tricks, as small as one file needs it.

Its questions, `if tricks.NAME:`, are answered like the loop's, and what the flags leave unused is dropped.
"""
