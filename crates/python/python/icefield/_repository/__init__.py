"""The methods of a repository by topic: refs, history, maintenance, and its state as a whole."""
