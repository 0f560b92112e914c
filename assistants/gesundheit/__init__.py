"""Gesundheit: an assistant that answers older people's health questions in German, from reviewed question-answer pairs.

The modules, in reading order:

assistant    writes the reply to a message
answers      decides how to answer a question: with a pair, an offer, a passage of a document, or a reason for having no answer
matcher      finds the stored question that a message asks, with a conditional logit model
similarity   compares texts by word stems, by letters, and by an optional sentence encoder
dialogue     reads the state of a conversation from its messages
recommend    selects the next question to recommend
reader       asks a language model which stored question a message asks, or which sentences of a document answer it
language     reads german.yaml: the assistant's texts, known wordings such as "yes", and opposites
counters     counts events in conversations for the user study (survey.yaml is the study's form)
settings     reads the options, and loads the knowledge base
"""
