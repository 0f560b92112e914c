"""One guarded turn, in the order in which things happen:

take_turn.py   the life of a turn
turn.py        what it is asked (Turn), what has happened in it so far (TurnRun, ChoiceRun)
chatbot.py     a chatbot with its models, judges and sections
sources.py     what a reply may rest on: sections that the question or the reply needs, and documents
context.py     what the upstream model is sent
draft.py       the chatbot's answer, and its hard checks
stream.py      what of a streamed draft may be sent before a verdict, and what has been
judging.py     the verdict, and what follows from it: completed, refined, replaced
tool_calls.py  which calls of tools were asked for, and what of them is delivered
delivery.py    what the user gets
actions.py     what an assistant does outside, after the verdict
record.py      what is kept: the state of the conversation, and the trace
shadow.py      what the filter would have done
"""
