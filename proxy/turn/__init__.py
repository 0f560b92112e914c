"""Runs one guarded turn: from a user's message to a judged reply. The modules in the order of the steps:

take_turn.py   the steps of a turn
turn.py        the input of a turn (Turn), and its progress (TurnRun, ChoiceRun)
chatbot.py     a chatbot with its models, judges and sections
sources.py     evidence for a reply: sections for the question or the reply, and documents
context.py     the request to the upstream model
draft.py       the chatbot's answer, and its hard checks
stream.py      the part of a streamed draft that may be sent before the verdict
judging.py     the verdict and its effect: the reply is completed, refined or replaced
tool_calls.py  reads tool calls, and writes them for judges and for the client
delivery.py    the result of a turn, and the text that the user gets
actions.py     an assistant's actions on other systems, after the verdict
record.py      the stored state of the conversation, and the trace
shadow.py      judges a turn in shadow mode, after the reply was sent
"""
