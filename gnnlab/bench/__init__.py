"""The experiments behind the notebooks, and the runner that executes the notebooks themselves.

`python -m gnnlab.bench` lists them. Each is a module here whose `main(argv)` prints what it
measured.
"""

__all__: list[str] = []
