"""Answers in forms that upstreams are known to use, streamed and not, through every kind of chatbot."""
