"""The loop's `learn`, `play_segment` and `play_episodes` in few compiled calls, for nets and worlds that they know."""
