"""Life of an episode: its beginning, its end, and its disturbances."""
