"""Where the weights of the local emergency and role judges come from: labelled texts, and what learns from them.

    emergency.jsonl, role.jsonl   texts with their labels, written for this purpose; nobody's real messages
    train.py                      learns the weights in judges/local/weights

Not needed to serve.
"""
