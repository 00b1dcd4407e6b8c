"""The batched environment that every task is built on, and its parts."""
