"""One guarded turn, in the order of its steps:

take_turn.py   the steps of a turn
turn.py        its input (Turn), its progress (TurnRun, ChoiceRun)
chatbot.py     a chatbot with its models, judges and sections
sources.py     evidence for a reply: sections for the question or the reply, and documents
context.py     the request to the upstream model
draft.py       the chatbot's answer, and its hard checks
stream.py      the part of a streamed draft that may be sent before the verdict
judging.py     the verdict and its effect: the reply is completed, refined or replaced
tool_calls.py  declared tool calls, their text for judges, their delivered form
delivery.py    the text that the user gets
actions.py     actions of an assistant on the outside world, after the verdict
record.py      the stored state of the conversation, and the trace
shadow.py      the verdict in shadow mode, after the reply was sent
"""
