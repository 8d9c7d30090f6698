"""Which trick matters where: designs, runs, statistics and figures over many seeds."""
