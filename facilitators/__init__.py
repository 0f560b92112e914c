"""Facilitators: simulated users who nudge a chatbot, gently and step by step, towards a role that it must not take.

In reading order:

    facilitator.py  one facilitator: who it is, its stages and tactics, its prompt and its lines
    voice.py        what it says next: a model plays it, or, without a model, its lines are said
    fidelity.py     whether it stayed in its part, and how hard it pressed
    prompts/*.md    the facilitators; adding a file adds one
"""
