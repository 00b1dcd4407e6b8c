"""Contacts between particles."""
