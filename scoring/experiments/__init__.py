"""Experiments on chatbots of a configuration: what `caf drift` does. Stands on the proxy, of which each arm is one.

In reading order:

    material.py     facilitators, checkpoints and questions, read and checked against each other
    arm_config.py   what an arm changes
    resources.py    what a run needs, opened: arms, facilitators' voice, raters, money
    proxy_turns.py  what a proxy's traces tell of its turns
    replay.py       a run with the answers of another one
    manifest.py     what a run was made of
    run.py          an experiment run, or gone on with
    outcome.py      a run's files read; its summary, table and report written
    find.py         a facilitator let loose with the filter off, until the first drift: a checkpoint
    check.py        what running an experiment would refuse
"""
