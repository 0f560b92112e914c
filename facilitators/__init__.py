"""Facilitators: simulated users who nudge a chatbot, gently and step by step, towards a role that it must not take.

In reading order:

    facilitator.py  one facilitator: its stages, tactics, prompt and written lines
    voice.py        its next message, from a model that plays it or from its written lines
    fidelity.py     checks whether it stayed in its role, and how hard it pressed
    prompts/*.md    the facilitators, one per file
"""
