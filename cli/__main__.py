"""`python -m cli` is `caf`."""

from cli.main import main

main()
