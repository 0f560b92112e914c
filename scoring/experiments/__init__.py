"""Experiments on the chatbots of a configuration, for `caf drift` and `caf compare`. Each arm is a proxy or another server.

In reading order:

    material.py     facilitators, checkpoints and questions, read and checked against each other
    arm_config.py   the configuration of an arm
    resources.py    opens the arms, the facilitators' voice, the raters and the budget
    proxy_turns.py  adds data from a proxy's traces to its turns
    replay.py       repeats a run with its recorded answers
    manifest.py     hashes of everything that decides a run's result
    run.py          starts or resumes a run
    outcome.py      reads a run's files; writes its summary, table and report
    find.py         makes a checkpoint: a facilitator talks to the unfiltered chatbot until it drifts
    compare.py      asks your own questions with the filter on and off
    estimate.py     estimates its calls, tokens and cost from the configuration
    side_by_side.py compares its replies side by side
    check.py        checks an experiment without running it
"""
