"""Rigid bodies: particles that move as their body does, and bodies that move as their particles are pushed."""
