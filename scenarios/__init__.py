"""Conversations kept as files, to start from or to judge.

* `scenario.py` is the model of a checkpoint, a saved conversation, with its loader and writer.
* `checkpoints/*.yaml` holds those that samples branch from.
"""
