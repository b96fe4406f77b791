"""Pictures of what was found, with matplotlib."""
