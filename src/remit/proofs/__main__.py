"""``python -m remit.proofs``: explore, replay, judge a history.

The guard matters: the search starts further processes, which import this module again.
"""

import sys

from remit.proofs.main import main

if __name__ == "__main__":
    sys.exit(main())
