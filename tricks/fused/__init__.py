"""The loop's `learn` and `play_segment` in a few compiled calls, for the nets and worlds that they know."""
