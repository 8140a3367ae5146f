"""What every test shares: how hypothesis searches."""

import os

from hypothesis import settings

# No deadline: the first call of a compiled kernel takes seconds. In CI the same examples each time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
