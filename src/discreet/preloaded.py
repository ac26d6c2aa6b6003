"""What must be imported before scikit-learn and altair are: `import discreet.preloaded` in both places.

Both need narwhals, one its `stable.v2`, the other its `stable.v1`, and these import each other. Where one thread fits
the first model while another draws the first chart, each holds the module that the other waits for, and Python ends one
of them with a deadlock. This module has one lock, that of its own import: whoever comes second finds all of it there.
"""

from contextlib import suppress

with suppress(ImportError):  # neither is installed
    import narwhals.stable.v1
    import narwhals.stable.v2  # noqa: F401
