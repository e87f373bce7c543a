"""``python -m leakrange.campaign``: see `leakrange.campaign.command`."""

from __future__ import annotations

import sys

from leakrange.campaign.command import main

if __name__ == "__main__":
    sys.exit(main())
