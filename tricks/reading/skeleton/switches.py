"""The flags that the questions of the skeleton are about; an export answers them, whatever they are here."""

from tricks.ladder import EVERY

tricks = EVERY
shares = tricks.shared_trunk or tricks.ppg  # whether two heads read one body
reads = shares or tricks.state_norm  # whether a net sees anything but the observations
