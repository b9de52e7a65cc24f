"""What a repository can do, by idea: references, history, upkeep, and what only format version 2 has."""
