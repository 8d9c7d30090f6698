"""The web book, made from the saved notebooks: it works from a folder, without a network."""
