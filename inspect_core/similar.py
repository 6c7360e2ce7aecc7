"""Placeholder until the gallery arrives."""


class Gallery:
    """Known parts."""
