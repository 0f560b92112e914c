"""Facilitators: simulated users who lead a chatbot, step by step, towards a role that it must not take.

In reading order:

    facilitator.py  one facilitator: its stages, tactics, prompt and written lines
    voice.py        writes the next message: by a model, or from the written lines of the facilitator
    fidelity.py     checks whether a message fits the facilitator's role, and rates its pressure on the chatbot
    prompts/*.md    the facilitators, one per file
"""
