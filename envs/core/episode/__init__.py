"""The life of an episode: how it begins, when it is over, and what disturbs it."""
