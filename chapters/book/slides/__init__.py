"""Slides: what a chapter shows, from its stored notebook, as one HTML file that needs no network."""
