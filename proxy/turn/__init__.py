"""One guarded turn, in the order in which things happen:

turn.py            the life of a turn
inputs.py          what it is asked and works with; results.py: what it comes to
retrieval.py       the sections that a question needs
draft.py           the chatbot's answer and its hard checks; context.py: what the upstream model sees
writer.py          what of a streamed draft may be sent before a verdict; stream_gate.py: what has been
evidence.py        documents that came with the request or the answer
cases.py           what the judges see; json_text.py: of a JSON reply
judging.py         the verdict, and what follows from it: completed, refined, replaced
tool_calls.py      which calls of tools were asked for, and what of them is delivered
delivered_text.py  what the user gets; remember.py: what the conversation's state becomes
trace_builder.py   the trace, from the results
shadow.py          what the filter would have done
chatbot.py         a chatbot with its models, judges and sections, and which language it answers an emergency in
"""
