"""Plain functions on NumPy arrays, compiled by numba. Import them from their modules, inside the function that calls
them.
"""
