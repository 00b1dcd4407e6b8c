"""Contacts of particles with colliders."""
