"""A program that gives the `llm` command what others type, one after the other, and prints what it saw.

Starting the command takes a second, so all of them are given to one process, and none of the proxy's log lines come between.
Standard input: {place: {environment, calls: {name: [words, ...]}}}. Standard output: {place: {name: {status, told}}} of each call's
last command.
"""

import json
import sys
from typing import Any

from click.testing import CliRunner, Result
from llm.cli import cli


def main() -> None:
    seen = {
        place: {name: saw(commands, given["environment"]) for name, commands in given["calls"].items()}
        for place, given in json.load(sys.stdin).items()
    }
    print(json.dumps(seen))


def saw(commands: list[list[str]], environment: dict[str, str]) -> dict[str, Any]:
    done: Result
    for words in commands:
        done = CliRunner().invoke(cli, words, env=environment)
    told = done.output
    return {"status": done.exit_code, "told": json.loads(told) if told[:1] in ("[", "{") else told}


if __name__ == "__main__":
    main()
