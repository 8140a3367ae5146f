"""Comparing graphs exactly."""
