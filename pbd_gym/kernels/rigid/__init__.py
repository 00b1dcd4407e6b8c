"""Rigid bodies: particles that move with their body, and bodies that move when their particles are pushed."""
