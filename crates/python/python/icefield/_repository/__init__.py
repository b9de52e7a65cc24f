"""What a repository can do, by idea: references, history, upkeep, and its state as a whole."""
