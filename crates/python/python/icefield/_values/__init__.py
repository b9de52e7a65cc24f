"""What a repository tells about itself, as values that are never changed."""
