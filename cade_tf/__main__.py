"""`python -m cade_tf COMMAND`: the same as `cade COMMAND`."""

import sys

from cade_tf.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
