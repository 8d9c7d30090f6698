"""What an export has of its own, in place of parts of this library that are longer than one file needs."""
