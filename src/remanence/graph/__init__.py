"""What people hold as `space.graph` and `space.entities`: walking, dating, correcting and telling."""
