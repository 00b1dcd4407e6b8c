"""The batched environment and its single view: Gymnasium, the program of launches, pictures, saved states."""
