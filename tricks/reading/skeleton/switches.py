"""The flags that the questions of the skeleton are about; an export answers them, whatever they are here."""

from tricks.ladder import EVERY, Tricks

tricks: Tricks = EVERY
images = True  # whether observations are images
