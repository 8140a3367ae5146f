"""TEMPORARY docstring: one line that says what this layer holds."""
